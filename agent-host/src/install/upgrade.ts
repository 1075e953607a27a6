/** @module `agent-host upgrade`: another version of the daemon, while sessions run on. */
import { basename } from "node:path";
import { putsInPlace } from "./install.ts";
import { comesUp, daemonStatus, installedHost, runtimesOf } from "./installed-host.ts";
import { placesBelow } from "./places.ts";
import { Refused } from "./refused.ts";
import { currentRelease, oldReleases, ownRelease } from "./release.ts";
import { carryOut, links, removes, runs } from "./steps.ts";
import { systemctl } from "./systemd.ts";

export async function upgrade(
  { root, dryRun }: { root: string; dryRun: boolean },
  say: (line: string) => void,
): Promise<void> {
  const places = placesBelow(root);
  const host = installedHost(places);
  if (!host?.identity)
    throw new Refused("This machine is no installed host; `agent-host install` makes it one.");
  const release = ownRelease(places);
  if (!release)
    throw new Refused(
      "This is a clone of the repository; run `upgrade` from the package of the new version.",
    );
  const old = currentRelease(places);
  const before = await daemonStatus(places);
  if (old === release.folder && before?.pid) {
    say(`${release.name} runs already.`);
    return;
  }
  const carry = { dryRun, say };
  await carryOut([...release.steps, ...putsInPlace(places, release, host.home, runtimesOf(places))], carry);
  const kept = [release.folder, ...(old ? [old] : [])];
  const left = oldReleases(places, kept);
  if (dryRun) return carryOut(left.length > 0 ? [removes(...left)] : [], carry);
  say("waiting for the new daemon");
  if (await comesUp(places, before)) {
    await carryOut(left.length > 0 ? [removes(...left)] : [], carry);
    const sessions = (await daemonStatus(places))?.sessions.length ?? 0;
    say(`${release.name} runs, and has taken over ${sessions} ${sessions === 1 ? "session" : "sessions"}.`);
    return;
  }
  const why = `The daemon of ${release.name} did not connect. \`journalctl -u sandbar-host -n 50\` says why.`;
  if (!old || old === release.folder) throw new Refused(why);
  await carryOut([links(places.current, old), runs(systemctl.unit("restart"))], carry);
  throw new Refused(`${why}\n${basename(old)} runs again.`);
}

/** @module `agent-host install`: a machine becomes a host. */
import path from "node:path";
import { ensureDockerEngine } from "../../setup/docker-engine.ts";
import { wasRemoved } from "../control-plane/was-removed.ts";
import { readIdentity } from "../host/identity.ts";
import { findingsOf } from "./checks.ts";
import { lookAt } from "./facts.ts";
import type { InstallOptions } from "./install-command-line.ts";
import { comesUp, daemonStatus, installedHost, RUNTIMES } from "./installed-host.ts";
import { commandIsOurs, type Places, placesBelow } from "./places.ts";
import { failures, printFinding } from "./print-findings.ts";
import { Refused } from "./refused.ts";
import { IMAGES_OF_RELEASE, MAIN_OF_RELEASE, NODE_OF_RELEASE, ownRelease, type Release } from "./release.ts";
import { readSettings, withSettings } from "./settings-file.ts";
import { carryOut, does, links, makesFolder, runs, type Step, writes } from "./steps.ts";
import { systemctl } from "./systemd.ts";
import { launcherFile, unitFile } from "./unit-file.ts";

type Say = (line: string) => void;

export async function install(options: InstallOptions, say: Say): Promise<void> {
  const { url, dryRun, runtimes } = options;
  const places = placesBelow(options.root);
  const home = path.resolve(options.home ?? installedHost(places)?.home ?? places.home);
  const look = () => lookAt({ url, home, images: runtimes });
  let facts = await look();
  const carry = (steps: readonly Step[]) => carryOut(steps, { dryRun, say });
  if ("error" in facts.docker && facts.root) {
    await carry([setsUpDocker(say)]);
    if (!dryRun) facts = await look();
  }
  const findings = findingsOf(facts);
  for (const finding of findings) printFinding(finding, say);
  const failed = failures(findings);
  // What is not there yet fails its check when nothing may be changed.
  if (failed.length > 0 && !dryRun)
    throw new Refused(
      `Not installed: ${failed.map(({ check }) => check).join(", ")} must be put right first.`,
    );
  const release = ownRelease(places);
  if (!release)
    throw new Refused(
      "This is a clone of the repository. `npm run pack` makes the package that can be installed (dist/).",
    );
  const joining = await joins(options, home, release);
  const before = dryRun ? null : await daemonStatus(places);
  await carry([
    ...release.steps,
    makesFolder(home, 0o711),
    writes(places.settings, settingsFor(options, places, home), 0o600),
    ...joining,
    ...putsInPlace(places, release, home, runtimes),
  ]);
  if (dryRun) {
    say("Nothing was changed.");
    if (failed.length > 0) say(`First must be put right: ${failed.map(({ check }) => check).join(", ")}.`);
    return;
  }
  say("waiting for the daemon");
  if (!(await comesUp(places, before)))
    throw new Refused("The daemon did not connect. `journalctl -u sandbar-host -n 50` says why.");
  const { host_id, name } = readIdentity(home)!;
  say(`This machine is the host ${name} (${host_id}) of ${url}.`);
  say("  agent-host status      what it holds");
  say("  agent-host doctor      whether it is well");
}

function setsUpDocker(say: Say): Step {
  return does("$ apt-get install docker.io iptables   # and start it", () =>
    ensureDockerEngine({ log: say }),
  );
}

function settingsFor({ capacity, runtimes }: InstallOptions, places: Places, home: string): string {
  return withSettings(readSettings(places.settings), {
    SANDBAR_HOME: home,
    [RUNTIMES]: runtimes.join(","),
    ...(capacity !== undefined && { SANDBAR_MAX_SESSIONS: String(capacity) }),
  });
}

/** Early, since the token does not last; not again when it was done by an installation that did not get further. */
async function joins({ url, token, name }: InstallOptions, home: string, release: Release): Promise<Step[]> {
  const known = readIdentity(home);
  if (known && !(await wasRemoved(known.url, known.host_id))) {
    if (known.url === url) return [];
    throw new Refused(
      `This machine is the host ${known.name} (${known.host_id}) of ${known.url}. \`agent-host uninstall\` first.`,
    );
  }
  const program = [NODE_OF_RELEASE, MAIN_OF_RELEASE].map((file) => path.join(release.folder, file));
  return [
    runs([...program, "join", url, "-", "--name", name], { env: { SANDBAR_HOME: home }, secret: token }),
  ];
}

/** Everything after which this release is what runs. */
export function putsInPlace(
  places: Places,
  release: Release,
  home: string,
  runtimes: InstallOptions["runtimes"],
): Step[] {
  const images = [NODE_OF_RELEASE, IMAGES_OF_RELEASE].map((file) => path.join(release.folder, file));
  return [
    runs([...images, ...runtimes], { env: { SANDBAR_HOME: home } }),
    links(places.current, release.folder),
    writes(places.launcher, launcherFile(places), 0o755),
    ...(commandIsOurs(places) ? [links(places.command, places.launcher)] : []),
    writes(places.unit, unitFile(places), 0o644),
    runs(systemctl.reload),
    runs(systemctl.unit("enable")),
    runs(systemctl.unit("restart")),
  ];
}

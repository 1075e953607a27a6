/** @module `agent-host uninstall`: what an installation made goes, and what its sessions left, unless it is to be kept. */
import { existsSync, rmSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import Docker from "dockerode";
import { removeContainersAndNetwork, unmountBelow } from "../docker/host-traces.ts";
import { endGuests } from "../wasm/guest-process.ts";
import type { UninstallOptions } from "./install-command-line.ts";
import { installedHost } from "./installed-host.ts";
import { commandIsOurs, placesBelow } from "./places.ts";
import { Refused } from "./refused.ts";
import { carryOut, does, removes, runs, type Step } from "./steps.ts";
import { systemctl } from "./systemd.ts";

export async function uninstall(
  { root, dryRun, keepData, yes }: UninstallOptions,
  say: (line: string) => void,
): Promise<void> {
  const places = placesBelow(root);
  const host = installedHost(places);
  if (!host) throw new Refused("There is no installed host on this machine.");
  const { home, identity } = host;
  if (
    !dryRun &&
    !yes &&
    !(await isWanted(`${identity?.name ?? "this host"}, with its sessions`, home, keepData))
  )
    throw new Refused("Nothing was changed.");
  const containers = identity
    ? [
        does(`remove the containers and the network of ${identity.host_id}`, async () => {
          await removeContainersAndNetwork(new Docker(), identity.host_id);
        }),
      ]
    : [];
  // Sessions first, while there is a daemon that can tell of them and save what they have left.
  const drained = existsSync(places.launcher) ? [runs([places.launcher, "drain"])] : [];
  await carryOut(
    [
      ...drained,
      runs(systemctl.unit("disable")),
      runs(systemctl.unit("stop")),
      ...containers,
      does(`end what else runs or is mounted below ${home}`, async () => {
        await endGuests(home);
        await unmountBelow(home);
      }),
      removes(places.unit),
      runs(systemctl.reload),
      ...(commandIsOurs(places) ? [removes(places.command)] : []),
      removes(places.launcher, places.current, places.releases, places.settings),
      keepData ? removesIdentity(home) : removes(home),
    ],
    { dryRun, say },
  );
  if (dryRun) return;
  if (keepData) say(`What sessions left stays in ${home}.`);
  if (identity) say(`\`sandbar hosts rm ${identity.name}\` makes ${identity.url} forget it.`);
}

/** The journal goes with it: another host must not take its sessions for its own. */
function removesIdentity(home: string): Step {
  const folders = ["host", "boxes", "runtime"].map((name) => path.join(home, name));
  return does(`remove ${folders.join(" ")}`, () => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });
}

async function isWanted(what: string, home: string, keepData: boolean): Promise<boolean> {
  if (!process.stdin.isTTY) throw new Refused("Nobody is there to be asked; --yes says that it is meant.");
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const data = keepData ? `${home} stays, but for the identity` : `${home} goes, with volumes and files`;
    return /^y(es)?$/i.test((await terminal.question(`Remove ${what}? ${data}. [y/N] `)).trim());
  } finally {
    terminal.close();
  }
}

/** @module What a host has left on its machine when its daemon is gone: containers, its network, mounts. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import type Docker from "dockerode";
import { unescaped } from "../box/mounts.ts";
import { removeEgress } from "./egress.ts";
import { LABEL } from "./labels.ts";
import { findOwnContainer } from "./own-container.ts";
import { packetFilter } from "./packet-filter.ts";

const run = promisify(execFile);
const LOOKS = 300;
const PAUSE_MS = 100;

/** Removes the containers and the network of a host, and says how many containers there were. */
export async function removeContainersAndNetwork(docker: Docker, hostId: string): Promise<number> {
  const removed = new Set<string>();
  const filters = { label: [`${LABEL.host}=${hostId}`] };
  // Docker may still be at a removal, or at a creation, that the daemon asked for before it ended.
  for (let look = 0; ; look++) {
    const left = await docker.listContainers({ all: true, filters });
    if (left.length === 0) break;
    for (const { Id } of left) removed.add(Id);
    const tries = left.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true }));
    const failed = (await Promise.allSettled(tries)).find((outcome) => outcome.status === "rejected");
    if (failed && look >= LOOKS) throw failed.reason;
    if (failed) await sleep(PAUSE_MS);
  }
  await removeEgress(docker, hostId, packetFilter(docker, hostId, await findOwnContainer(docker)));
  return removed.size;
}

export function mountsBelow(folder: string): string[] {
  // Only Linux has it, and only there does the daemon mount anything.
  if (!existsSync("/proc/mounts")) return [];
  return readFileSync("/proc/mounts", "utf8")
    .split("\n")
    .map((line) => unescaped(line.split(" ")[1] ?? ""))
    .filter((path) => path.startsWith(`${folder}/`));
}

export async function unmountBelow(folder: string): Promise<void> {
  for (const path of mountsBelow(folder).toReversed())
    await run("umount", ["-l", path]).catch((error) => {
      // It may have gone with its container between the look and the call.
      if (mountsBelow(folder).includes(path)) throw error;
    });
}

/** @module What the OCI runtime of a host's sandboxes is, as far as it is a wall. */
import type { Isolation } from "@sandbar/shared";

/** Names that their makers' packages give Docker; whatever else there is counts as what it is at least. */
const WALLS: readonly [name: RegExp, isolation: Isolation][] = [
  [/^runsc/, "gvisor"],
  [/^kata/, "kata"],
  [/^sysbox/, "sysbox"],
];

export function isolationOf(runtime: string | undefined): Isolation {
  return WALLS.find(([name]) => name.test(runtime ?? ""))?.[1] ?? "container";
}

/** gVisor's own processes are in the cgroup: one that it cannot have ends the sandbox instead of failing a fork in it. */
export const countsProcesses = (runtime: string | undefined): boolean => isolationOf(runtime) !== "gvisor";

/** Kernels of their own do not see what the host mounts into a container that runs. */
export const seesLateMounts = (isolation: Isolation): boolean =>
  isolation === "container" || isolation === "sysbox";

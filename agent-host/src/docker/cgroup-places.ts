/** @module Where the kernel keeps a container's cgroup: one tree, or one for each controller. */
import { readdirSync } from "node:fs";
import path from "node:path";

export const CGROUP_ROOT = "/sys/fs/cgroup";

/** Docker's cgroup drivers: cgroupfs, and systemd's slices. None for what is no container's id. */
export function cgroupPlaces(container: string): string[] {
  if (!/^[0-9a-f]{64}$/.test(container)) return [];
  return [`docker/${container}`, `system.slice/docker-${container}.scope`];
}

/** `cpu` is often mounted together with `cpuacct`. */
export function controllerFolder(name: string): string {
  const found = readdirSync(CGROUP_ROOT).find((entry) => entry.split(",").includes(name));
  return path.join(CGROUP_ROOT, found ?? name);
}

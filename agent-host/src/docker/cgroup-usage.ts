/**
 * What a running container uses, read where the kernel counts it: Docker's own statistics cost a call for each
 * container, and a second of waiting. These files are in memory, so reading them at once is cheaper than waiting for it.
 *
 * @module
 */
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { CGROUP_ROOT, cgroupPlaces, controllerFolder } from "./cgroup-places.ts";

export interface CgroupUsage {
  readonly cpuUs: number;
  readonly memoryBytes: number;
  readonly processes: number;
}

/** Null where the cgroup is not found; throws when the container has just ended. */
export function openCgroup(container: string): (() => CgroupUsage) | null {
  for (const place of cgroupPlaces(container)) {
    const unified = path.join(CGROUP_ROOT, place);
    if (existsSync(path.join(unified, "memory.current"))) return () => readUnified(unified);
    const split = {
      cpu: path.join(controllerFolder("cpuacct"), place),
      memory: path.join(controllerFolder("memory"), place),
      pids: path.join(controllerFolder("pids"), place),
    };
    if (existsSync(split.memory)) return () => readSplit(split);
  }
  return null;
}

function readUnified(folder: string): CgroupUsage {
  return {
    cpuUs: field(text(folder, "cpu.stat"), "usage_usec"),
    memoryBytes: withoutCache(
      Number(text(folder, "memory.current")),
      text(folder, "memory.stat"),
      "inactive_file",
    ),
    processes: Number(text(folder, "pids.current")),
  };
}

function readSplit(folders: { cpu: string; memory: string; pids: string }): CgroupUsage {
  return {
    cpuUs: Number(text(folders.cpu, "cpuacct.usage")) / 1000,
    memoryBytes: withoutCache(
      Number(text(folders.memory, "memory.usage_in_bytes")),
      text(folders.memory, "memory.stat"),
      "total_inactive_file",
    ),
    processes: Number(text(folders.pids, "pids.current")),
  };
}

/** As `docker stats` does: cache that the kernel would give back at once is not use. */
function withoutCache(bytes: number, statistics: string, name: string): number {
  return Math.max(0, bytes - field(statistics, name));
}

function text(folder: string, name: string): string {
  return readFileSync(path.join(folder, name), "utf8");
}

function field(statistics: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(statistics)?.[1] ?? 0);
}

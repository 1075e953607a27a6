/** @module What a process has in memory, in MB: its own part of what it shares, where the kernel says. */
import { readFileSync } from "node:fs";

export function memoryMb(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  return Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1] ?? 0) / 1024;
}

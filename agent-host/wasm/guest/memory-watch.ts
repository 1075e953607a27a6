/** @module Ends kernels that use more memory than the session has, where no cgroup does it. */
import { readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import path from "node:path";
import { factsOf } from "../../src/io/process-facts.ts";
import type { KernelProcess } from "./kernel-process.ts";
import { QUIET_LOOKS, WATCH_MS } from "./limits.ts";

const MEGABYTE = 1024 * 1024;

export class MemoryWatch {
  readonly #limit: number;
  readonly #cgroup: string | null;
  #oomKills: number;
  #quietLooks = 0;

  /** `busy`: whether code runs; what it has left behind grows slowly, if at all. */
  constructor(
    kernels: () => Iterable<KernelProcess>,
    busy: () => boolean,
    memoryMb: number,
    cgroup: string | null,
  ) {
    this.#limit = memoryMb * MEGABYTE;
    this.#cgroup = cgroup;
    this.#oomKills = this.#count();
    setInterval(() => {
      if (busy() || ++this.#quietLooks % QUIET_LOOKS === 0) this.#look(kernels());
    }, WATCH_MS);
  }

  /** Whether the system has killed for memory since this was last asked. */
  struck(): boolean {
    const before = this.#oomKills;
    this.#oomKills = this.#count();
    return this.#oomKills > before;
  }

  #look(kernels: Iterable<KernelProcess>): void {
    let total = 0;
    let largest: KernelProcess | null = null;
    let most = 0;
    for (const kernel of kernels) {
      const size = factsOf(kernel.pid)?.privateBytes ?? 0;
      total += size;
      if (size > most) [largest, most] = [kernel, size];
    }
    if (total <= this.#limit || !largest) return;
    largest.outOfMemory = true;
    largest.kill();
  }

  #count(): number {
    if (!this.#cgroup) return 0;
    // The one of cgroup v2, the other of v1.
    for (const file of ["memory.events", "memory.oom_control"])
      try {
        const text = readFileSync(path.join(this.#cgroup, file), "utf8");
        return Number(/^oom_kill (\d+)$/m.exec(text)?.[1] ?? 0);
      } catch {}
    return 0;
  }
}

/** Files that processes have open to write, as `<device>:<inode>`. */
export function openForWriting(pids: Iterable<number>, folder: string): Set<string> {
  const found = new Set<string>();
  for (const pid of pids)
    for (const number of descriptors(pid))
      try {
        const file = `/proc/${pid}/fd/${number}`;
        if (!readlinkSync(file).startsWith(folder)) continue;
        const flags = /^flags:\s*0*([0-7]+)$/m.exec(
          readFileSync(`/proc/${pid}/fdinfo/${number}`, "utf8"),
        )?.[1];
        if ((Number.parseInt(flags ?? "0", 8) & 0o3) === 0) continue;
        const { dev, ino } = statSync(file, { bigint: true });
        found.add(`${dev}:${ino}`);
      } catch {}
  return found;
}

function descriptors(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}

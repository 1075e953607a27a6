/**
 * A cgroup for each box, where the daemon may make one: the bound of memory that holds even between two looks of the guest.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readdir, rmdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const ROOT = "/sys/fs/cgroup";
const MEGABYTE = 1024 * 1024;
/** What the guest has, who holds output that nobody has taken yet, and what the system itself counts. */
const BESIDE_CODE_MB = 320;
const LEAVE_MS = 5000;

interface Version {
  readonly folder: string;
  readonly limit: string;
  /** Without it what does not fit would only move to the disk. */
  readonly swap: string;
}

const UNIFIED: Version = { folder: ROOT, limit: "memory.max", swap: "memory.swap.max" };
const SPLIT: Version = {
  folder: path.join(ROOT, "memory"),
  limit: "memory.limit_in_bytes",
  swap: "memory.memsw.limit_in_bytes",
};

/** What a session may take of the machine: its code, and its files where they are in memory. */
export const boundOf = ({ memory_mb, tmpfs_mb }: { memory_mb: number; tmpfs_mb: number }): number =>
  (memory_mb + tmpfs_mb + BESIDE_CODE_MB) * MEGABYTE;

export class Cgroups {
  readonly #version: Version;
  readonly #folder: string;

  private constructor(version: Version, folder: string) {
    this.#version = version;
    this.#folder = folder;
  }

  /** Null where this process may make none, as when it is not root. */
  static async open(home: string): Promise<Cgroups | null> {
    const version = versionHere();
    const folder = folderOf(version, home);
    try {
      await mkdir(folder, { recursive: true });
      if (version === UNIFIED)
        for (const above of [ROOT, folder])
          await writeFile(path.join(above, "cgroup.subtree_control"), "+memory");
      const cgroups = new Cgroups(version, folder);
      // Only trying tells: the file system may let one make folders that bound nothing.
      await cgroups.bound("trial", 1024 * MEGABYTE);
      await rmdir(cgroups.of("trial"));
      return cgroups;
    } catch {
      await rmdir(folder).catch(() => {});
      return null;
    }
  }

  of(box: string): string {
    return path.join(this.#folder, box);
  }

  /** Makes it, or changes what it holds. */
  async bound(box: string, bytes: number): Promise<void> {
    const { limit, swap } = this.#version;
    const write = (file: string, value: number) => writeFile(path.join(this.of(box), file), String(value));
    // With cgroup v1 it is both together, which may never be the smaller one. Not every system counts it.
    const writeSwap = () => write(swap, this.#version === UNIFIED ? 0 : bytes).catch(() => {});
    await mkdir(this.of(box), { recursive: true });
    await writeSwap();
    await write(limit, bytes);
    await writeSwap();
  }

  /** With all that the process starts from now on. */
  async take(box: string, pid: number): Promise<void> {
    await writeFile(path.join(this.of(box), "cgroup.procs"), String(pid));
  }

  /** Away with those that nobody is in: a daemon may have ended before it could. */
  async sweep(): Promise<void> {
    for (const group of await groupsIn(this.#folder)) await rmdir(group).catch(() => {});
  }

  /** Once its processes have gone, which were killed. */
  async remove(box: string): Promise<void> {
    await removeEmptied(this.of(box));
  }
}

/** Of a home whose processes were killed. */
export async function removeCgroups(home: string): Promise<void> {
  const folder = folderOf(versionHere(), home);
  for (const group of await groupsIn(folder)) await removeEmptied(group);
  await rmdir(folder).catch(() => {});
}

async function groupsIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => path.join(folder, name));
}

async function removeEmptied(folder: string): Promise<void> {
  for (const deadline = Date.now() + LEAVE_MS; ; await sleep(10))
    try {
      await rmdir(folder);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EBUSY" || Date.now() > deadline) return;
    }
}

const versionHere = () => (existsSync(path.join(ROOT, "cgroup.controllers")) ? UNIFIED : SPLIT);

function folderOf({ folder }: Version, home: string): string {
  const name = createHash("sha256").update(home).digest("hex").slice(0, 16);
  return path.join(folder, `sandbar-wasm-${name}`);
}

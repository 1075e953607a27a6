/** @module The host's mount table, and the commands that change it. */
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface Mount {
  readonly path: string;
  /** Of this mount alone (`rw`, `nosuid`), not of its file system. */
  readonly options: readonly string[];
  /** What is mounted below it appears wherever it is bound. */
  readonly shared: boolean;
}

export async function mountTmpfs(folder: string, sizeMb: number): Promise<void> {
  await run("mount", ["-t", "tmpfs", "-o", `size=${sizeMb}m,mode=0711,nosuid,nodev`, "sandbar", folder]);
}

/** Throws when there is none, or when more is in it already. */
export async function resizeTmpfs(folder: string, sizeMb: number): Promise<void> {
  await run("mount", ["-o", `remount,size=${sizeMb}m`, folder]);
}

export async function makeShared(folder: string): Promise<void> {
  await run("mount", ["--make-shared", folder]);
}

/** With everything that is mounted below it. */
export async function bind(source: string, target: string): Promise<void> {
  await run("mount", ["--rbind", source, target]);
}

/** What is mounted below the source from now on does not appear at the target. */
export async function bindPrivately(source: string, target: string): Promise<void> {
  await run("mount", ["--rbind", "--make-rprivate", source, target]);
}

/** A bind mount and everything mounted below it; where they are bound to already they stay as they are. */
export async function makeTreeReadOnly(folder: string): Promise<void> {
  for (const { path, options } of await mountsFrom(folder)) {
    // Options that are not named again would be lost.
    const others = options.filter((option) => option !== "rw" && option !== "ro");
    await run("mount", ["-o", ["remount", "bind", "ro", ...others].join(), path]);
  }
}

/** Lazily: a container on its way out may hold the mount a moment longer. Mounts below it go with it. */
export async function unmount(folder: string): Promise<void> {
  // An interrupted creation that was begun again may have mounted over its first try.
  for (let attempt = 0; await isMounted(folder); attempt++) {
    await run("umount", ["-l", folder]).catch((error) => {
      // The sweep and a session's own end may both be at it.
      if (attempt >= 3) throw error;
    });
  }
}

export async function isMounted(folder: string): Promise<boolean> {
  return (await mounts()).some(({ path }) => path === folder);
}

/** The folder itself, if something is mounted on it, and what is mounted below it. */
export async function mountsFrom(folder: string): Promise<Mount[]> {
  return (await mounts()).filter(({ path }) => path === folder || path.startsWith(`${folder}/`));
}

async function mounts(): Promise<Mount[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).trimEnd().split("\n");
  return lines.map((line) => {
    const [, , , , path = "", options = "", ...optional] = line.split(" ");
    return {
      path: path.replaceAll(/\\(\d{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8))),
      options: options.split(","),
      shared: optional.slice(0, optional.indexOf("-")).some((field) => field.startsWith("shared:")),
    };
  });
}

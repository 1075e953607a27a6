/** @module The host's mount table, and the commands that change it. */
import { execFile } from "node:child_process";
import { readFile, realpath } from "node:fs/promises";
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

/** Arguments of `mount`, one list after another in one shell: a process of its own for each would take the daemon twice as long. */
export async function mountInOrder(steps: readonly (readonly string[])[]): Promise<void> {
  const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;
  await run("sh", ["-ec", steps.map((words) => ["mount", ...words].map(quoted).join(" ")).join("\n")]);
}

/** Makes a bind mount of the source at the target, and all that came along below it, read-only before anybody sees it. */
export async function readOnlySteps(source: string, target: string): Promise<string[][]> {
  const folder = await realpath(source);
  const table = await mounts();
  const around = table.filter(({ path }) => isBelow(folder, path));
  const { options } = around.reduce((inner, mount) =>
    mount.path.length >= inner.path.length ? mount : inner,
  );
  const inside = table.filter(({ path }) => path !== folder && isBelow(path, folder));
  const made = [
    { path: target, options },
    ...inside.map((mount) => ({ ...mount, path: target + mount.path.slice(folder.length) })),
  ];
  return made.map((mount) => {
    // Options that are not named again would be lost.
    const others = mount.options.filter((option) => option !== "rw" && option !== "ro");
    return ["-o", ["remount", "bind", "ro", ...others].join(), mount.path];
  });
}

/** Lazily: a sandbox on its way out may hold the mount a moment longer. Mounts below it go with it. */
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

/** What is mounted on the folder and below it, as far as it is not covered. */
export async function mountsFrom(folder: string): Promise<Mount[]> {
  const found = (await mounts()).filter(({ path }) => isBelow(path, folder));
  return [...new Map(found.map((mount) => [mount.path, mount])).values()];
}

/** The folder itself counts. */
function isBelow(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder === "/" ? folder : `${folder}/`);
}

async function mounts(): Promise<Mount[]> {
  // On other systems than Linux nothing is ever mounted here.
  if (process.platform !== "linux") return [];
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).trimEnd().split("\n");
  return lines.map((line) => {
    const [, , , , path = "", options = "", ...optional] = line.split(" ");
    return {
      path: unescaped(path),
      options: options.split(","),
      shared: optional.slice(0, optional.indexOf("-")).some((field) => field.startsWith("shared:")),
    };
  });
}

/** The kernel writes blanks, tabs, line ends and backslashes as octal numbers. */
export function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)));
}

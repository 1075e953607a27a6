/** @module A file system in a sparse file: its size is a wall, and it takes what is in it. */
import { execFile } from "node:child_process";
import { rename, rm, truncate, writeFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);
const MB = 1024 * 1024;
/** Below that there is no room for a file system's own books. */
const SMALLEST_MB = 4;
/** A journal of the usual size would be most of what an empty one takes. */
const JOURNAL_FROM_MB = 16;

/** Empty, with nothing in it that nobody has put there; no file is left when it cannot be made. */
export async function makeImage(image: string, sizeMb: number): Promise<void> {
  // A crash in the middle leaves none that looks whole.
  const part = `${image}.new`;
  try {
    await writeFile(part, "", { mode: 0o600 });
    await truncate(part, Math.max(SMALLEST_MB, sizeMb) * MB);
    const journal = sizeMb >= JOURNAL_FROM_MB ? ["-J", "size=4"] : [];
    await run("mkfs.ext4", ["-q", "-F", "-m", "0", ...journal, part]);
    // A folder of root's that no user knows.
    await run("debugfs", ["-w", "-R", "rmdir lost+found", part]);
    await rename(part, image);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

export async function mountImage(image: string, folder: string): Promise<void> {
  await run("mount", ["-o", "loop,nosuid,nodev", image, folder]);
}

/** After a crash of the machine; what it cannot repair the kernel may still be able to read. */
export async function repairImage(image: string): Promise<void> {
  await run("e2fsck", ["-p", image]).catch(() => {});
}

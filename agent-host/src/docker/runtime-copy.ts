/**
 * The guest, the kernels and the installers in a folder that never changes. An upgrade replaces their sources while containers run; a
 * guest that is loaded already must find the kernels that it can speak with.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { cp, mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";

const FOLDERS = ["guest", "kernels", "installers"];
const SECCOMP = "seccomp.json";
const UNFINISHED = ".part";

const copies = (home: string) => path.join(home, "runtime");

/** The copy of what is there now, made if there is none; the sources themselves when it cannot be made. */
export async function copyRuntime({ home, imagesDir }: Config, log: Log): Promise<string> {
  try {
    const copy = path.join(copies(home), await digestOf(imagesDir));
    if (await stat(copy).catch(() => null)) return copy;
    const part = copy + UNFINISHED;
    await rm(part, { recursive: true, force: true });
    await mkdir(part, { recursive: true });
    for (const folder of FOLDERS)
      await cp(path.join(imagesDir, folder), path.join(part, folder), { recursive: true });
    await cp(path.join(imagesDir, SECCOMP), path.join(part, SECCOMP)).catch(() => {});
    await rename(part, copy);
    return copy;
  } catch (error) {
    log.warn({ err: error }, "guest and kernels could not be copied: sessions may not outlive an upgrade");
    return imagesDir;
  }
}

/** Those that no container has mounted and no new one will have. */
export async function removeOldRuntimes({ home, runtimeDir }: Config, mounted: Set<string>): Promise<void> {
  for (const name of await readdir(copies(home)).catch(() => [])) {
    const copy = path.join(copies(home), name);
    if (copy === runtimeDir || FOLDERS.some((folder) => mounted.has(path.join(copy, folder)))) continue;
    await rm(copy, { recursive: true, force: true });
  }
}

async function digestOf(imagesDir: string): Promise<string> {
  const hash = createHash("sha256");
  for (const folder of FOLDERS) {
    const found = await readdir(path.join(imagesDir, folder), { recursive: true, withFileTypes: true });
    const files = found
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.join(parentPath, name));
    for (const file of files.sort()) {
      const content = await readFile(file);
      hash.update(`${path.relative(imagesDir, file)}\0${content.length}\0`).update(content);
    }
  }
  return hash.digest("hex").slice(0, 16);
}

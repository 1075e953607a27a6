/**
 * The folders of BIND sessions, below SESSIONS_ROOT. While its session lives a folder is a file system of its own, so that
 * it holds no more than it may; afterwards it is a plain folder again, which people find there whether a daemon runs or not.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { chmod, lstat, mkdir, readdir, realpath, rm, rmdir, stat, statfs } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { SandbarError } from "@sandbar/shared";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { sessionFolder } from "./box-folders.ts";
import { makeImage, mountImage, repairImage } from "./image-file.ts";
import { isMounted, unmount } from "./mounts.ts";

const run = promisify(execFile);
const MODE = 0o770;

export class BindFolders {
  readonly #config: Pick<Config, "sessionsRoot" | "bindMb" | "minFreeDiskMb">;
  readonly #log: Log;
  #plain = false;

  constructor(config: Pick<Config, "sessionsRoot" | "bindMb" | "minFreeDiskMb">, log: Log) {
    this.#config = config;
    this.#log = log;
  }

  /** Where what is mounted here is not seen by those who use it. */
  leavePlain(): void {
    this.#plain = true;
  }

  /** Made if it is not there yet; its owner is left to whoever uses it. */
  async provide(session: string): Promise<string> {
    const { folder, image } = await this.#places(session);
    await mkdir(folder, { mode: MODE }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    if (!(await lstat(folder)).isDirectory())
      throw new SandbarError(
        "SESSION_START_FAILED",
        "the session's folder under SESSIONS_ROOT is not a folder",
      );
    if (await isMounted(folder)) return folder;
    if (await exists(image)) await mountImage(image, folder);
    else if (!this.#plain && (await readdir(folder)).length === 0) await this.#bound(image, folder);
    return folder;
  }

  /** Of a session that lives on after a restart of the machine. */
  async restore(session: string): Promise<void> {
    const { folder, image } = await this.#places(session);
    if (!(await exists(image)) || (await isMounted(folder))) return;
    await repairImage(image);
    await mkdir(folder, { recursive: true, mode: MODE });
    await mountImage(image, folder);
  }

  /** Makes a plain folder of it, which at no moment is without its files. Nobody may write to it any more. */
  async settle(session: string): Promise<void> {
    const { root, folder, image, view } = await this.#places(session);
    if (!(await exists(image))) return;
    await this.restore(session);
    await requireRoom(folder, root, this.#config.minFreeDiskMb);
    // What lies below the mount is reached through a second way in, on which nothing is mounted.
    await unmount(view);
    await mkdir(view, { recursive: true, mode: 0o700 });
    await run("mount", ["--bind", "--make-private", root, view]);
    try {
      const below = sessionFolder(view, session);
      for (const left of await readdir(below)) await rm(path.join(below, left), { recursive: true });
      await run("cp", ["-dR", "--preserve=mode,ownership,timestamps,links", `${folder}/.`, below]);
      // On the file system that they come from they meant nothing.
      await run("find", [below, "-type", "f", "-perm", "/6000", "-exec", "chmod", "a-s", "{}", "+"]);
    } finally {
      await unmount(view);
      await rmdir(view);
    }
    await unmount(folder);
    await rm(image, { force: true });
  }

  async remove(session: string): Promise<void> {
    const { folder, image, view } = await this.#places(session);
    for (const mounted of [view, folder]) await unmount(mounted);
    // Never with what is in it: that would be everybody's, were it still mounted.
    await rmdir(view).catch(() => {});
    for (const left of [folder, image, `${image}.new`]) await rm(left, { recursive: true, force: true });
  }

  async #bound(image: string, folder: string): Promise<void> {
    try {
      await mkdir(path.dirname(image), { recursive: true, mode: 0o700 });
      await makeImage(image, this.#config.bindMb);
      await mountImage(image, folder);
      await chmod(folder, MODE);
    } catch (error) {
      await rm(image, { force: true });
      this.#log.warn({ err: error }, "cannot make a file system in a file; SANDBAR_BIND_MB does not hold");
    }
  }

  async #places(session: string): Promise<{ root: string; folder: string; image: string; view: string }> {
    const { sessionsRoot } = this.#config;
    await mkdir(sessionsRoot, { recursive: true, mode: 0o711 });
    // The mount table knows no links.
    const root = await realpath(sessionsRoot);
    const own = path.join(root, ".sandbar", session);
    return { root, folder: sessionFolder(root, session), image: `${own}.ext4`, view: `${own}.view` };
  }
}

async function requireRoom(from: string, to: string, floorMb: number): Promise<void> {
  const { blocks, bfree, bsize } = await statfs(from);
  const disk = await statfs(to);
  if (disk.bavail * disk.bsize - (blocks - bfree) * bsize < floorMb * 1024 * 1024)
    throw new Error("the disk has no room for a second copy");
}

const exists = (file: string) =>
  stat(file).then(
    () => true,
    () => false,
  );

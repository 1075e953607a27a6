/**
 * Files that the daemon keeps in a folder which the sandbox can write to. Whatever the sandbox puts in their place (a link,
 * a named pipe, a second name of another file) is never written through and never waited for.
 *
 * @module
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, rename, unlink } from "node:fs/promises";

const { O_RDONLY, O_WRONLY, O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_DIRECTORY } = constants;
const MODE = 0o644;

export class SessionFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Adds to a file; one that would grow beyond the limit becomes `<name>.1` first. */
  append(name: string, text: string, limitBytes: number): Promise<void> {
    return this.#inside(async (at) => {
      let file = await openToAppend(at(name));
      try {
        if ((await file.stat()).size + Buffer.byteLength(text) > limitBytes) {
          await file.close();
          await rename(at(name), at(`${name}.1`));
          file = await openToAppend(at(name));
        }
        await file.appendFile(text);
      } finally {
        await file.close();
      }
    });
  }

  /** Readers see the old text or the new one. */
  replace(name: string, text: string): Promise<void> {
    return this.#inside(async (at) => {
      const part = at(`.sandbar-${randomBytes(8).toString("hex")}.part`);
      const file = await open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, MODE);
      try {
        await file.writeFile(text).finally(() => file.close());
        // Renaming replaces a link, it does not follow it.
        await rename(part, at(name));
      } catch (error) {
        await unlink(part).catch(() => {});
        throw error;
      }
    });
  }

  /** Null when there is no such regular file of a bearable size. */
  read(name: string, limitBytes: number): Promise<string | null> {
    return this.#inside(async (at) => {
      const file = await open(at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch(() => null);
      if (!file) return null;
      try {
        const status = await file.stat();
        return status.isFile() && status.size <= limitBytes ? await file.readFile("utf8") : null;
      } finally {
        await file.close();
      }
    });
  }

  async #inside<T>(work: (at: (name: string) => string) => Promise<T>): Promise<T> {
    const folder = await open(this.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      return await work((name) => `/proc/self/fd/${folder.fd}/${name}`);
    } finally {
      await folder.close();
    }
  }
}

async function openToAppend(path: string): Promise<FileHandle> {
  const flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
  const file = await open(path, flags, MODE).catch((error: NodeJS.ErrnoException) => {
    // ELOOP is a link, ENXIO a pipe that nobody reads.
    if (error.code === "ELOOP" || error.code === "ENXIO") return null;
    throw error;
  });
  if (file) {
    const status = await file.stat();
    if (status.isFile() && status.nlink === 1) return file;
    await file.close();
  }
  await unlink(path);
  return open(path, flags | O_EXCL, MODE);
}

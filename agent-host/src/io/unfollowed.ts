/**
 * Paths below a folder that others write to. Every component is opened on its own and none may be a link, so nothing that
 * somebody puts there leads out of it, and a named pipe is not waited for. Names are bytes: they need not be UTF-8.
 *
 * @module
 */
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const { O_RDONLY, O_NOFOLLOW, O_DIRECTORY, O_NONBLOCK } = constants;

export type Name = string | Buffer;

/** A path that the kernel resolves from the folder itself, wherever that has moved to. */
export function inside(folder: FileHandle, name: Name): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${folder.fd}/`), Buffer.from(name as Buffer)]);
}

/** The last of the folders, to be closed by the caller. `root` itself may be a link if the caller trusts it. */
export async function openFolder(
  root: string,
  names: readonly Name[],
  { trustedRoot = false } = {},
): Promise<FileHandle> {
  let folder = await open(root, O_RDONLY | O_DIRECTORY | (trustedRoot ? 0 : O_NOFOLLOW));
  for (const name of names) {
    const above = folder;
    const path = inside(above, name);
    folder = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).finally(() => above.close());
  }
  return folder;
}

/** Whatever it is; the caller looks before it reads. */
export function openEntry(folder: FileHandle, name: Name): Promise<FileHandle> {
  return open(inside(folder, name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
}

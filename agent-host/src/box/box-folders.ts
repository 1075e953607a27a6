/** @module Where a box has its things on the host, and how they go. */
import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import { mountsFrom, unmount } from "./mounts.ts";

export function boxesFolder(home: string): string {
  return path.join(home, "boxes");
}

/** The tmpfs; everything that is mounted for the box is mounted below it. */
export function filesFolder(box: string): string {
  return path.join(box, "files");
}

export async function removeBoxFolder(box: string): Promise<void> {
  await unmount(filesFolder(box));
  // A session's folder or the datasets, which must never be removed from here.
  const [left] = await mountsFrom(box);
  if (left) throw new Error(`${left.path} is still mounted`);
  await rm(box, { recursive: true, force: true });
}

export async function removeBoxFolders(home: string): Promise<void> {
  const folder = boxesFolder(home);
  for (const name of await readdir(folder).catch(() => [])) await removeBoxFolder(path.join(folder, name));
}

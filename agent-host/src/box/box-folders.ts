/** @module Where a box and its session have their things on the host, and how they go. */
import { readdir, rm } from "node:fs/promises";
import path from "node:path";
import type { SessionSpec } from "@sandbar/shared";
import type { Config } from "../host/config.ts";
import { mountsFrom, unmount } from "./mounts.ts";

interface SessionPlace {
  readonly id: string;
  readonly box: string;
  readonly spec: Pick<SessionSpec, "storage">;
}

export function boxesFolder(home: string): string {
  return path.join(home, "boxes");
}

export function boxFolder(home: string, box: string): string {
  return path.join(boxesFolder(home), box);
}

/** The tmpfs; everything that is mounted for the box is mounted below it. */
export function filesFolder(box: string): string {
  return path.join(box, "files");
}

/** What a session's code knows as /session; there is no such folder where the host could not mount a tmpfs. */
export function sessionFiles(config: Config, { id, box, spec }: SessionPlace): string {
  if (spec.storage === "BIND") return sessionFolder(config.sessionsRoot, id);
  return path.join(filesFolder(boxFolder(config.home, box)), "session");
}

export function sessionFolder(sessionsRoot: string, session: string): string {
  return path.join(sessionsRoot, session);
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

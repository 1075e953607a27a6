/**
 * A session's own folders on the host. One tmpfs of `limits.tmpfs_mb`, mounted by the daemon, holds /tmp, /dev/shm and, with
 * TMPFS storage, /session: unlike Docker's own it may be executable, has the right owner, outlives the container and can
 * change its size while it is in use. BIND is a folder of its own that outlives the session.
 *
 * @module
 */
import { chmod, chown, mkdir } from "node:fs/promises";
import path from "node:path";
import { SandbarError, type SessionSpec } from "@sandbar/shared";
import type { BindFolders } from "../box/bind-folders.ts";
import { makeShared, mountTmpfs } from "../box/mounts.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import { SANDBOX_ID } from "./users.ts";

export interface SessionStorage {
  /** Docker bind strings. */
  readonly binds: string[];
  /** Where the host could not mount: sizes of Docker's own tmpfs by path. */
  readonly tmpfs: Record<string, string>;
}

export interface BoxPlace {
  /** Where its tmpfs is mounted. */
  readonly folder: string;
  readonly user: number;
  /** That its image declares. */
  readonly volumes: readonly string[];
}

interface Place {
  readonly inside: string;
  readonly mode: number;
  readonly owner: number;
  readonly options: string;
}

/** What a box is made with. One that is `late` can be given a session's folder and datasets while it runs. */
export async function prepareStorage(
  { config, bindFolders }: { config: Config; bindFolders: BindFolders },
  session: string | null,
  spec: SessionSpec,
  { folder, user, volumes }: BoxPlace,
  late: boolean,
  log: Log,
): Promise<SessionStorage> {
  const binds: string[] = [];
  const tmpfs: Record<string, string> = {};
  const inMemory = spec.storage === "TMPFS";
  if (!inMemory) binds.push(`${await bindFolder(bindFolders, session!, user)}:/session:rw`);
  const scratch = (inside: string, mode: number): Place => ({ inside, mode, owner: user, options: "rw" });
  const places = [scratch("/tmp", 0o1777), scratch("/dev/shm", 0o1777)];
  if (inMemory) places.push(scratch("/session", 0o770));
  // Within the limit of the session's files, and empty, whatever the image has there.
  for (const volume of volumes) if (!OWN_PLACES.has(volume)) places.push(scratch(volume, 0o770));
  if (config.mountsAreSeen && (await inTmpfs(folder, spec.limits.tmpfs_mb, log))) {
    if (late) {
      await makeShared(folder);
      for (const inside of LATE) await mkdir(stagingFolder(folder, inside), { mode: 0o700 });
      if (config.datasetsRoot) places.push({ inside: "/data", mode: 0o555, owner: 0, options: "ro" });
    }
    for (const [index, { inside, mode, owner, options }] of places.entries()) {
      const part = path.join(folder, OWN_PLACES.has(inside) ? path.basename(inside) : `volume-${index}`);
      await mkdir(part);
      await chmod(part, mode);
      await chown(part, owner, owner && SANDBOX_ID);
      const open = late && LATE.has(inside);
      binds.push(`${part}:${inside}:${options}${open ? ",rslave" : ""}`);
    }
  } else {
    const size = Math.max(1, Math.floor(spec.limits.tmpfs_mb / places.length));
    for (const { inside, mode, owner } of places)
      tmpfs[inside] =
        `rw,nosuid,nodev,exec,size=${size}m,mode=${mode.toString(8)},uid=${owner},gid=${owner && SANDBOX_ID}`;
  }
  if (spec.dataset_access === "LOCAL_RO") binds.push(`${datasetsFolder(config)}:/data:ro`);
  return { binds, tmpfs };
}

/** What a box has anyway, or must never have from an image. */
const OWN_PLACES = new Set([
  ...["/session", "/tmp", "/dev/shm", "/data", "/run/sandbar", "/etc/passwd"],
  ...["/opt/sandbar/guest", "/opt/sandbar/kernels"],
]);

/** Where a mount on the host appears in the running container. */
const LATE = new Set(["/session", "/data"]);

/** Where a late mount is made ready before the box sees it. */
export function stagingFolder(folder: string, inside: string): string {
  return path.join(folder, `${path.basename(inside)}-staging`);
}

export function datasetsFolder({ datasetsRoot }: Config): string {
  if (datasetsRoot) return datasetsRoot;
  throw new SandbarError("DATASETS_UNAVAILABLE", "DATASETS_HOST_RO is not set on the session's host");
}

export async function bindFolder(folders: BindFolders, session: string, user: number): Promise<string> {
  const folder = await folders.provide(session);
  await chown(folder, user, SANDBOX_ID);
  return folder;
}

async function inTmpfs(folder: string, sizeMb: number, log: Log): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  try {
    await mountTmpfs(folder, sizeMb);
    return true;
  } catch (error) {
    log.warn({ err: error }, "cannot mount a tmpfs; using Docker's own, whose files end with the container");
    return false;
  }
}

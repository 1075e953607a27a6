/**
 * A session's own folders on the host. One tmpfs of `limits.tmpfs_mb`, mounted by the daemon, holds /tmp, /dev/shm and, with
 * TMPFS storage, /session: unlike Docker's own it may be executable, has the right owner, outlives the container and can
 * change its size while it is in use. BIND is a plain folder that outlives the session.
 *
 * @module
 */
import { chmod, chown, lstat, mkdir } from "node:fs/promises";
import path from "node:path";
import { SandbarError, type SessionSpec } from "@sandbar/shared";
import { sessionFolder } from "../box/box-folders.ts";
import { makeShared, mountTmpfs } from "../box/mounts.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";

export const SANDBOX_UID = 65532;

export interface SessionStorage {
  /** Docker bind strings. */
  readonly binds: string[];
  /** Where the host could not mount: sizes of Docker's own tmpfs by path. */
  readonly tmpfs: Record<string, string>;
}

interface Place {
  readonly inside: string;
  readonly mode: number;
  readonly owner: number;
  readonly options: string;
}

/** What a box is made with. One that is `late` can be given a session's folder and datasets while it runs. */
export async function prepareStorage(
  config: Config,
  session: string | null,
  spec: SessionSpec,
  folder: string,
  late: boolean,
  log: Log,
): Promise<SessionStorage> {
  const binds: string[] = [];
  const tmpfs: Record<string, string> = {};
  const inMemory = spec.storage === "TMPFS";
  if (!inMemory) binds.push(`${await bindFolder(config.sessionsRoot, session!)}:/session:rw`);
  const places = [scratch("/tmp", 0o1777), scratch("/dev/shm", 0o1777)];
  if (inMemory) places.push(scratch("/session", 0o770));
  if (await inTmpfs(folder, spec.limits.tmpfs_mb, log)) {
    if (late) {
      await makeShared(folder);
      for (const inside of LATE) await mkdir(stagingFolder(folder, inside), { mode: 0o700 });
      if (config.datasetsRoot) places.push({ inside: "/data", mode: 0o555, owner: 0, options: "ro" });
    }
    for (const { inside, mode, owner, options } of places) {
      const part = path.join(folder, path.basename(inside));
      await mkdir(part);
      await chmod(part, mode);
      await chown(part, owner, owner);
      const open = late && LATE.has(inside);
      binds.push(`${part}:${inside}:${options}${open ? ",rslave" : ""}`);
    }
  } else {
    const size = Math.max(1, Math.floor(spec.limits.tmpfs_mb / places.length));
    for (const { inside, mode, owner } of places)
      tmpfs[inside] = `rw,nosuid,nodev,exec,size=${size}m,mode=${mode.toString(8)},uid=${owner},gid=${owner}`;
  }
  if (spec.dataset_access === "LOCAL_RO") binds.push(`${datasetsFolder(config)}:/data:ro`);
  return { binds, tmpfs };
}

/** Where a mount on the host appears in the running container. */
const LATE = new Set(["/session", "/data"]);

/** Where a late mount is made ready before the box sees it. */
export function stagingFolder(folder: string, inside: string): string {
  return path.join(folder, `${path.basename(inside)}-staging`);
}

function scratch(inside: string, mode: number): Place {
  return { inside, mode, owner: SANDBOX_UID, options: "rw" };
}

export function datasetsFolder({ datasetsRoot }: Config): string {
  if (datasetsRoot) return datasetsRoot;
  throw new SandbarError("DATASETS_UNAVAILABLE", "DATASETS_HOST_RO is not set on the session's host");
}

/** Made if it is not there yet. */
export async function bindFolder(root: string, session: string): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o711 });
  const folder = sessionFolder(root, session);
  await mkdir(folder, { mode: 0o770 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  if (!(await lstat(folder)).isDirectory())
    throw new SandbarError(
      "SESSION_START_FAILED",
      "the session's folder under SESSIONS_ROOT is not a folder",
    );
  await chown(folder, SANDBOX_UID, SANDBOX_UID);
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

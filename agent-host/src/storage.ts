/**
 * A session's own folders on the host. One tmpfs of `limits.tmpfs_mb`, mounted by the daemon, holds /tmp, /dev/shm and, with
 * TMPFS storage, /session: unlike Docker's own it may be executable, has the right owner, outlives the container and can
 * change its size while it is in use. BIND is a plain folder that outlives the session.
 *
 * @module
 */
import { execFile } from "node:child_process";
import { chmod, chown, lstat, mkdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { SandbarError, type SessionSpec } from "@sandbar/shared";
import type { Config } from "./config.ts";
import type { Log } from "./log.ts";

const run = promisify(execFile);

export const SANDBOX_UID = 65532;

export interface SessionStorage {
  /** Docker bind strings. */
  readonly binds: string[];
  /** Where the host could not mount: sizes of Docker's own tmpfs by path. */
  readonly tmpfs: Record<string, string>;
}

export async function prepareStorage(
  config: Config,
  session: string | null,
  spec: SessionSpec,
  folder: string,
  log: Log,
): Promise<SessionStorage> {
  const binds: string[] = [];
  const tmpfs: Record<string, string> = {};
  const inMemory = spec.storage === "TMPFS";
  if (!inMemory) binds.push(`${await bindFolder(config.sessionsRoot, session!)}:/session:rw`);
  const places = [
    { inside: "/tmp", mode: 0o1777 },
    { inside: "/dev/shm", mode: 0o1777 },
    ...(inMemory ? [{ inside: "/session", mode: 0o770 }] : []),
  ];
  if (await mountTmpfs(folder, spec.limits.tmpfs_mb, log)) {
    for (const { inside, mode } of places) {
      const part = path.join(folder, path.basename(inside));
      await mkdir(part);
      await chmod(part, mode);
      await chown(part, SANDBOX_UID, SANDBOX_UID);
      binds.push(`${part}:${inside}:rw`);
    }
  } else {
    const size = Math.max(1, Math.floor(spec.limits.tmpfs_mb / places.length));
    for (const { inside, mode } of places)
      tmpfs[inside] =
        `rw,nosuid,nodev,exec,size=${size}m,mode=${mode.toString(8)},uid=${SANDBOX_UID},gid=${SANDBOX_UID}`;
  }
  if (spec.dataset_access === "LOCAL_RO") {
    if (!config.datasetsRoot)
      throw new SandbarError(
        "SESSION_START_FAILED",
        "this host has no local datasets (DATASETS_HOST_RO is not set)",
      );
    binds.push(`${config.datasetsRoot}:/data:ro`);
  }
  return { binds, tmpfs };
}

export function sessionFolder(sessionsRoot: string, session: string): string {
  return path.join(sessionsRoot, session);
}

async function bindFolder(root: string, session: string): Promise<string> {
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

async function mountTmpfs(folder: string, sizeMb: number, log: Log): Promise<boolean> {
  await mkdir(folder, { recursive: true });
  const options = `size=${sizeMb}m,mode=0711,nosuid,nodev`;
  try {
    await run("mount", ["-t", "tmpfs", "-o", options, "sandbar", folder]);
    return true;
  } catch (error) {
    log.warn({ err: error }, "cannot mount a tmpfs; using Docker's own, whose files end with the container");
    return false;
  }
}

/** Throws when the host could not mount one, or when more is in it already. */
export async function resizeTmpfs(folder: string, sizeMb: number): Promise<void> {
  await run("mount", ["-o", `remount,size=${sizeMb}m`, folder]);
}

/** Lazily: a container on its way out may hold the mount a moment longer. */
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
  const mounts = await readFile("/proc/self/mountinfo", "utf8");
  return mounts.includes(` ${folder.replaceAll(" ", "\\040")} `);
}

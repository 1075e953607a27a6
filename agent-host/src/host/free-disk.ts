/** @module How much disk is left where this host keeps what sessions leave. */
import { existsSync, statfsSync } from "node:fs";
import type { Config } from "./config.ts";

type Places = Pick<Config, "home" | "sessionsRoot" | "minFreeDiskMb">;

/** Why no new session may be made, in words that stay the same as long as it is so; null while there is enough. */
export function diskRefusal({ home, sessionsRoot, minFreeDiskMb }: Places): string | null {
  if (minFreeDiskMb === 0) return null;
  const low = [home, sessionsRoot].find((folder) => existsSync(folder) && freeMb(folder) < minFreeDiskMb);
  return low === undefined
    ? null
    : `the disk of ${low} has less than ${minFreeDiskMb} MB left (SANDBAR_MIN_FREE_DISK_MB)`;
}

function freeMb(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return (bavail * bsize) / 1024 / 1024;
}

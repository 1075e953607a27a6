/** @module Where a one-machine deployment keeps everything, and the lock that lets one run at a time. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

export interface Home {
  root: string;
  logs: string;
  keyFile: string;
  identityFile: string;
  pidFile: string;
}

export const REPO = resolve(import.meta.dirname, "../../..");

export function homeFromEnv(): Home {
  const root = resolve(process.env.INIT_CWD ?? REPO, process.env.SANDBAR_HOME ?? join(REPO, ".sandbar"));
  mkdirSync(root, { recursive: true, mode: 0o700 });
  const logs = join(root, "logs");
  mkdirSync(logs, { recursive: true, mode: 0o700 });
  return {
    root,
    logs,
    keyFile: join(root, "api-key"),
    identityFile: join(root, "host", "identity.json"),
    pidFile: join(root, "up.pid"),
  };
}

/** The pid of a running `npm start` of this home, or null. */
export function runningSupervisor(home: Home): number | null {
  if (!existsSync(home.pidFile)) return null;
  const pid = Number(readFileSync(home.pidFile, "utf8"));
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("up.ts") ? pid : null;
  } catch {
    return null;
  }
}

export function claimHome(home: Home): void {
  writeFileSync(home.pidFile, String(process.pid));
  process.on("exit", () => rmSync(home.pidFile, { force: true }));
}

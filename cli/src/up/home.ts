/** @module Where a one-machine deployment keeps everything, and the lock that lets one run at a time. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { withFileLock } from "@sandbar/agent-host/setup/file-lock.mjs";

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
    // After a reboot, or in a container, this process may have the number of the one that wrote the file.
    return pid !== process.pid && !isOwnThread(pid) && commandOf(pid).includes("up.ts") ? pid : null;
  } catch {
    return null;
  }
}

/** A thread has a number of its own, and the command of its process. */
function isOwnThread(id: number): boolean {
  return existsSync(`/proc/self/task/${id}`);
}

function commandOf(pid: number): string {
  if (existsSync("/proc/self/cmdline")) return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  return execFileSync("ps", ["-p", String(pid), "-o", "command="], { encoding: "utf8" });
}

export interface Claim {
  /** Who has the home, when it is not this process now. */
  heldBy: number | null;
  /** The last one did not get to leave it: what it started may still be on its way out. */
  afterCrash: boolean;
}

/** Looks and claims under one lock: of two that start at the same moment, one is refused. */
export function claimHome(home: Home): Promise<Claim> {
  return withFileLock(join(home.root, "up.lock"), () => {
    const heldBy = runningSupervisor(home);
    const afterCrash = heldBy === null && existsSync(home.pidFile);
    if (heldBy === null) {
      writeFileSync(home.pidFile, String(process.pid));
      process.on("exit", () => rmSync(home.pidFile, { force: true }));
    }
    return { heldBy, afterCrash };
  });
}

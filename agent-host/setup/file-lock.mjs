import { spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Runs `work` while holding an exclusive lock on `path`, across processes. The kernel drops the lock when the
 * holder dies, so there is no stale lock to clean up. `onWait` is called once when someone else holds it.
 */
export async function withFileLock(path, work, onWait = () => {}) {
  mkdirSync(dirname(path), { recursive: true });
  const release = await acquire(path, onWait);
  try {
    return await work();
  } finally {
    release();
  }
}

// Node has no flock(2): a child holds it until our end of its stdin closes, which also happens when we are killed.
function acquire(path, onWait) {
  const holder = spawn("flock", [path, "sh", "-c", "echo held; exec cat"], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting = setTimeout(onWait, 300);
  return new Promise((resolve, reject) => {
    holder.once("error", (error) => {
      clearTimeout(waiting);
      // macOS has no flock(1); two set-ups at once are then merely wasteful.
      if (error.code === "ENOENT") resolve(() => {});
      else reject(error);
    });
    holder.stdout.once("data", () => {
      clearTimeout(waiting);
      resolve(() => holder.stdin.end());
    });
    holder.once("exit", (code) => {
      clearTimeout(waiting);
      reject(new Error(`flock ${path} ended with status ${code}`));
    });
  });
}

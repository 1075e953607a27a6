/**
 * Ties workerd to the life of the process that started it. Miniflare ends workerd on a clean exit only; after
 * kill -9 an orphan would go on writing to the same SQLite files as its successor.
 *
 * @module
 */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const SETPRIV = "/usr/bin/setpriv";
// The package exports its binary's path and ships no types.
const { default: workerdBinary } = createRequire(import.meta.url)("workerd") as { default: string };

/** Makes Miniflare start workerd so that the kernel kills it together with this process. */
export function leashWorkerd(home: string): void {
  if (!existsSync(SETPRIV)) return;
  const wrapper = join(home, "workerd-on-leash");
  const binary = process.env.SANDBAR_WORKERD ?? workerdBinary;
  writeFileSync(wrapper, `#!/bin/sh\nexec ${SETPRIV} --pdeathsig KILL '${binary}' "$@"\n`, { mode: 0o755 });
  process.env.MINIFLARE_WORKERD_PATH = wrapper;
}

/** Ends a workerd that an earlier server of this home left behind, where the leash is not to be had. */
export function killStaleWorkerd(home: string): void {
  const file = pidFile(home);
  const pid = existsSync(file) ? Number(readFileSync(file, "utf8")) : 0;
  rmSync(file, { force: true });
  if (pid > 1 && commandOf(pid).includes("workerd")) process.kill(pid, "SIGKILL");
}

export function rememberWorkerd(home: string): number | null {
  const pid = childrenOf(process.pid).find((child) => commandOf(child).includes("workerd"));
  if (pid === undefined) return null;
  writeFileSync(pidFile(home), String(pid));
  return pid;
}

function pidFile(home: string): string {
  return join(home, "workerd.pid");
}

function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .trim()
      .split(" ")
      .filter(Boolean)
      .map(Number);
  } catch {
    return [];
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

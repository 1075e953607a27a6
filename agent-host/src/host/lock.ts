/**
 * One daemon per home, and the newest wins. The lock is SQLite's file lock: the kernel frees it when its holder dies,
 * so it can be neither stale nor stolen; the process file only says whom to ask to go.
 *
 * @module
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { commandOf, factsOf } from "../io/process-facts.ts";
import { isDiskFailure } from "./disk-failure.ts";
import { hostFolder } from "./identity.ts";
import type { Log } from "./log.ts";

const ASK_MS = 5000;
const GIVE_UP_MS = 15_000;

interface Holder {
  pid: number;
  started: string;
}

export async function takeLock(home: string, log: Log): Promise<{ release(): void }> {
  const folder = hostFolder(home);
  const began = performance.now();
  let askedPid = 0;
  for (;;) {
    const lock = tryLock(path.join(folder, "lock.sqlite"));
    if (lock) {
      const me: Holder = { pid: process.pid, started: startTime(process.pid) ?? "" };
      writeFileSync(path.join(folder, "daemon.json.new"), JSON.stringify(me), { mode: 0o600 });
      renameSync(path.join(folder, "daemon.json.new"), path.join(folder, "daemon.json"));
      return { release: () => lock.close() };
    }
    const waited = performance.now() - began;
    if (waited > GIVE_UP_MS) throw new Error(`another daemon holds ${home} and does not go away`);
    const holder = liveDaemon(home);
    if (holder && holder.pid !== process.pid) {
      if (askedPid !== holder.pid)
        log.info({ other: holder.pid }, "asking the older daemon of this home to go");
      try {
        if (waited > ASK_MS) process.kill(holder.pid, "SIGKILL");
        else if (askedPid !== holder.pid) process.kill(holder.pid, "SIGTERM");
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
      }
      askedPid = holder.pid;
    }
    await sleep(50);
  }
}

function tryLock(file: string): DatabaseSync | null {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec("BEGIN EXCLUSIVE");
    return db;
  } catch (error) {
    db.close();
    if (isDiskFailure(error)) throw error;
    return null;
  }
}

/** The daemon of this home, if the recorded process is verifiably still that program and not one that got its number later. */
export function liveDaemon(home: string): Holder | null {
  try {
    const holder = JSON.parse(readFileSync(path.join(home, "host", "daemon.json"), "utf8")) as Holder;
    if (!Number.isInteger(holder.pid) || holder.pid < 2) return null;
    const isDaemon = /main\.[tj]s/.test(commandOf(holder.pid));
    return isDaemon && startTime(holder.pid) === holder.started ? holder : null;
  } catch {
    return null;
  }
}

const startTime = (pid: number) => factsOf(pid)?.started ?? null;

/** @module A guest's process on this host: started so that it outlives the daemon, found again by its number and its age. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, existsSync, openSync, statSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import type { GuestStart } from "../../wasm/guest/start.ts";
import { boxesFolder } from "../box/box-folders.ts";
import type { BoxUsage } from "../engine/box.ts";
import { childrenOf, factsOf } from "../io/process-facts.ts";
import { removeCgroups } from "./cgroups.ts";

const RECORD = "wasm.json";
const PREFIX = "wasm-";
const SETPRIV = "/usr/bin/setpriv";
const GUEST_HEAP_MB = 256;

interface GuestRecord {
  readonly pid: number;
  /** When it was started, in the kernel's own count: another process may get the same number later. */
  readonly started: string;
  readonly session: string;
  readonly createdAt: number;
}

export interface FoundGuest extends GuestRecord {
  readonly id: string;
  readonly box: string;
  readonly running: boolean;
}

export const sandboxOf = (box: string) => `${PREFIX}${box}`;
export const isWasmSandbox = (sandbox: string) => sandbox.startsWith(PREFIX);

export async function startGuest(
  folder: string,
  session: string,
  entry: string,
  start: GuestStart,
  uid: number | null,
  caBundle: string | undefined,
): Promise<ChildProcess> {
  // What a kernel sends is small once it is read, unless it is made to be large.
  const limits = ["--max-semi-space-size=1", `--max-old-space-size=${GUEST_HEAP_MB}`];
  const node = [process.execPath, "--disable-warning=ExperimentalWarning", ...limits];
  const command = [...node, entry, JSON.stringify(start)];
  const ids = [`--reuid=${uid}`, `--regid=${uid}`, "--clear-groups"];
  const drop = uid === null ? [] : [SETPRIV, ...ids, "--no-new-privs", "--inh-caps=-all"];
  const [program, ...args] = [...drop, ...command];
  // A session of its own: what ends the daemon's group does not end it, and it can be ended with all that it started.
  const complaints = openSync(path.join(folder, "guest.log"), "a", 0o600);
  const child = spawn(program!, args, {
    detached: true,
    stdio: ["ignore", "ignore", complaints],
    // Paths of sockets are short from here.
    cwd: folder,
    env: { PATH: "/usr/bin:/bin", ...(caBundle && { NODE_EXTRA_CA_CERTS: caBundle }) },
  });
  await new Promise((resolve, reject) => child.once("spawn", resolve).once("error", reject));
  closeSync(complaints);
  child.unref();
  const pid = child.pid!;
  const record: GuestRecord = { pid, started: startOf(pid) ?? "", session, createdAt: Date.now() };
  await writeFile(path.join(folder, RECORD), JSON.stringify(record), { mode: 0o600 });
  return child;
}

export async function listGuests(home: string): Promise<FoundGuest[]> {
  const found: FoundGuest[] = [];
  for (const box of await readdir(boxesFolder(home)).catch(() => [])) {
    const guest = await findGuest(home, sandboxOf(box));
    if (guest) found.push(guest);
  }
  return found;
}

export async function findGuest(home: string, sandbox: string): Promise<FoundGuest | null> {
  if (!isWasmSandbox(sandbox)) return null;
  const box = sandbox.slice(PREFIX.length);
  const text = await readFile(path.join(boxesFolder(home), box, RECORD), "utf8").catch(() => null);
  if (text === null) return null;
  const record: GuestRecord = JSON.parse(text);
  return { ...record, id: sandbox, box, running: isRunning(record) };
}

/** The last that it complained of. */
export async function lastWords(home: string, { box }: Pick<FoundGuest, "box">): Promise<string> {
  const text = await readFile(path.join(boxesFolder(home), box, "guest.log"), "utf8").catch(() => "");
  return text.trim().slice(-1000);
}

export function isRunning({ pid, started }: Pick<GuestRecord, "pid" | "started">): boolean {
  return startOf(pid) === started;
}

/** With everything that it started. */
export function killGuest(guest: Pick<GuestRecord, "pid" | "started">): void {
  if (!isRunning(guest)) return;
  try {
    process.kill(-guest.pid, "SIGKILL");
  } catch {}
}

/** Of every box of this home. */
export async function endGuests(home: string): Promise<void> {
  for (const guest of await listGuests(home)) killGuest(guest);
  await removeCgroups(home);
}

const startOf = (pid: number) => factsOf(pid)?.started ?? null;

export function usageOf(pid: number): Omit<BoxUsage, "diskBytes"> | null {
  const usage = { cpuUs: 0, memoryBytes: 0, processes: 0 };
  for (const each of [pid, ...childrenOf(pid)]) {
    const facts = factsOf(each);
    if (!facts) continue;
    usage.cpuUs += facts.cpuUs;
    usage.processes += facts.threads;
    usage.memoryBytes += facts.memoryBytes;
  }
  return usage.processes > 0 ? usage : null;
}

/** Whether another user of the machine gets as far as the path. */
export function othersReach(place: string): boolean {
  for (let at = place; ; at = path.dirname(at)) {
    if ((statSync(at).mode & 0o001) === 0) return false;
    if (at === "/") return true;
  }
}

export const canDropPrivileges = () => process.getuid?.() === 0 && existsSync(SETPRIV);

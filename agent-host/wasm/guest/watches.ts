/** @module Changes below a folder as JSON lines, by looking again and again. */
import fs from "node:fs";
import { statusOf } from "./artifacts.ts";
import { CallError } from "./call-error.ts";
import { isPart } from "./parts.ts";
import type { Storage } from "./storage.ts";
import type { Transfers } from "./transfers.ts";

const POLL_MS = 500;
const ENTRIES = 20_000;
const OVERFLOW = { type: "overflow", path: "", directory: true };

interface Seen {
  readonly directory: boolean;
  readonly mark: string;
}

export async function watch(
  transfers: Transfers,
  storage: Storage,
  params: Record<string, unknown>,
  answer: (result: object) => void,
): Promise<object> {
  const { real } = storage.place(params);
  const status = statusOf(real);
  if (!status?.isDirectory())
    throw new CallError(status ? "NOT_A_FOLDER" : "NOT_FOUND", "only folders can be watched");
  const recursive = params.recursive !== false;
  let seen = look(real, recursive);
  const socket = await transfers.dial(params.transfer);
  answer({ method: "polling" });
  const say = (change: object) => socket.write(`${JSON.stringify(change)}\n`);
  if (seen.size >= ENTRIES) say(OVERFLOW);
  socket.resume();
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      const now = look(real, recursive);
      for (const change of changes(seen, now)) say(change);
      seen = now;
      if (statusOf(real)?.isDirectory()) return;
      say({ type: "deleted", path: "", directory: true });
      socket.end();
    }, POLL_MS);
    const end = () => {
      clearInterval(timer);
      socket.destroy();
      resolve({});
    };
    socket.on("end", end);
    socket.on("close", end);
  });
}

function* changes(before: Map<string, Seen>, now: Map<string, Seen>): Generator<object> {
  for (const path of [...before.keys()]
    .filter((key) => !now.has(key))
    .sort()
    .reverse())
    yield { type: "deleted", path, directory: before.get(path)!.directory };
  for (const path of [...now.keys()].sort()) {
    const { directory, mark } = now.get(path)!;
    const old = before.get(path);
    if (!old) yield { type: "created", path, directory };
    else if (old.mark !== mark && !directory) yield { type: "modified", path, directory };
  }
}

function look(root: string, recursive: boolean): Map<string, Seen> {
  const found = new Map<string, Seen>();
  const waiting = [""];
  while (waiting.length && found.size < ENTRIES) {
    const below = waiting.pop()!;
    let names: string[] = [];
    try {
      names = fs.readdirSync(below ? `${root}/${below}` : root);
    } catch {}
    for (const name of names) {
      if (isPart(name)) continue;
      const shown = below ? `${below}/${name}` : name;
      const status = statusOf(`${root}/${shown}`);
      if (!status) continue;
      const directory = status.isDirectory();
      found.set(shown, { directory, mark: `${status.size}:${status.mtimeNs}:${status.ino}` });
      if (directory && recursive) waiting.push(shown);
    }
  }
  return found;
}

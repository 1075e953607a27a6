/** @module Which thread was talked in last, for each server and key: another server's is never continued. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { readJson } from "@sandbar/shared";
import { stateFile } from "../terminal/state-file.ts";

type Remembered = Record<string, { thread: string; at: string }>;
/** Of servers and keys; the oldest are forgotten. */
const MOST = 50;

export class LastThread {
  readonly #path: string;
  readonly #who: string;

  constructor(url: string, apiKey: string, path = stateFile("chat.json")) {
    this.#path = path;
    // The file names no key, nor anything that a key could be guessed by.
    this.#who = createHash("sha256").update(`${url}\n${apiKey}`).digest("hex").slice(0, 32);
  }

  get(): string | null {
    return this.#read()[this.#who]?.thread ?? null;
  }

  set(thread: string): void {
    const { [this.#who]: _, ...others } = this.#read();
    const newest = Object.entries(others)
      .sort(([, a], [, b]) => (a.at < b.at ? 1 : -1))
      .slice(0, MOST - 1);
    const all = { ...Object.fromEntries(newest), [this.#who]: { thread, at: new Date().toISOString() } };
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 });
    const part = `${this.#path}.${process.pid}`;
    writeFileSync(part, `${JSON.stringify(all, null, 2)}\n`, { mode: 0o600 });
    renameSync(part, this.#path);
  }

  #read(): Remembered {
    if (!existsSync(this.#path)) return {};
    const all = readJson(readFileSync(this.#path, "utf8"));
    // A file of somebody else's making is as good as none.
    const isOurs = (entry: unknown) => typeof (entry as Remembered[string] | null)?.thread === "string";
    return all && typeof all === "object" && Object.values(all).every(isOurs) ? (all as Remembered) : {};
  }
}

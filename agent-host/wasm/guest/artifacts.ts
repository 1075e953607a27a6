/** @module What code leaves in /session/artifacts: found when an execution ends, removed when it is safe elsewhere. */
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { isPart } from "./parts.ts";

/** What one scan reports; the rest is found by the next. */
const ENTRIES = 2000;
const NAMES_BYTES = 1_000_000;
const LOOKS = 20_000;
const HASHED_FILES = 16;
const HASHED_BYTES = 2 * 1024 * 1024;
const SHOWN = "/session/artifacts";

export interface Entry {
  readonly path_b64: string;
  readonly size: number;
  readonly mtime_ns: string;
  readonly ctime_ns: string;
  readonly kind: "file" | "directory" | "symlink" | "fifo" | "socket" | "device";
  sha256?: string;
}

export class Artifacts {
  readonly root: string;
  /** Entries that the daemon does not want to hear of again until they change. */
  #settled = new Map<string, string>();

  constructor(session: string) {
    this.root = path.join(session, "artifacts");
    this.#restore();
  }

  /** For a `done`: nothing when there is nothing, which must cost nearly nothing. */
  found(): object {
    const said = this.#restore();
    const skipped = said ? { artifacts_skipped: [{ name: SHOWN, reason: said }] } : {};
    const { artifacts, artifacts_more } = this.scan();
    if (artifacts.length === 0) return skipped;
    this.#addHashes(artifacts);
    return { artifacts, artifacts_more, ...skipped };
  }

  scan(): { artifacts: Entry[]; artifacts_more: boolean } {
    const artifacts: Entry[] = [];
    const settled = new Map<string, string>();
    let room = NAMES_BYTES;
    let looks = LOOKS;
    const waiting = [""];
    while (waiting.length) {
      const below = waiting.pop()!;
      for (const name of names(path.join(this.root, below))) {
        if (isPart(name)) continue;
        const shown = below ? `${below}/${name}` : name;
        const status = statusOf(path.join(this.root, shown));
        if (!status) continue;
        looks--;
        if (status.isDirectory()) {
          waiting.push(shown);
          continue;
        }
        const mark = markOf(status);
        if (this.#settled.get(shown) === mark) {
          settled.set(shown, mark);
          continue;
        }
        room -= shown.length * 2 + 120;
        artifacts.push(entryOf(shown, status));
        if (artifacts.length >= ENTRIES || room < 0) return { artifacts, artifacts_more: true };
      }
      if (looks < 0) return { artifacts, artifacts_more: true };
    }
    this.#settled = settled;
    artifacts.sort((a, b) => (a.path_b64 < b.path_b64 ? -1 : 1));
    return { artifacts, artifacts_more: false };
  }

  /** Removes what is safe elsewhere if it is unchanged, and remembers what was refused for good. */
  settle(params: Record<string, unknown>): object {
    let removed = 0;
    for (const { shown, mark } of named(params.remove)) {
      const file = this.fileOf(shown);
      const status = statusOf(file);
      if (!status || markOf(status) !== mark) continue;
      try {
        fs.unlinkSync(file);
        removed++;
      } catch {
        continue;
      }
      this.#prune(path.dirname(file));
    }
    for (const { shown, mark } of named(params.refused))
      if (this.#settled.size < 10 * ENTRIES) this.#settled.set(shown, mark);
    return { removed };
  }

  fileOf(shown: string): string {
    if (shown.split("/").some((part) => part === "" || part === "." || part === ".."))
      throw new TypeError("not a path below the folder");
    return path.join(this.root, shown);
  }

  /** A folder of ours is there again, whatever code has put in its place. */
  #restore(): string | null {
    const status = statusOf(this.root);
    if (status?.isDirectory()) return null;
    try {
      let was = "it was removed";
      if (status) {
        let aside = `${this.root}.1`;
        for (let n = 2; fs.existsSync(aside); n++) aside = `${this.root}.${n}`;
        fs.renameSync(this.root, aside);
        was = `a ${kindOf(status)} stood there, now ${SHOWN}${aside.slice(this.root.length)}`;
      }
      fs.mkdirSync(this.root);
      return `${was}; a new folder is there now`;
    } catch (error) {
      return `nothing can be kept in it: ${(error as NodeJS.ErrnoException).code}`;
    }
  }

  #prune(folder: string): void {
    for (let at = folder; at !== this.root; at = path.dirname(at))
      try {
        fs.rmdirSync(at);
      } catch {
        return;
      }
  }

  /** The daemon asks about few and small files by these while it reads them, and hashes what it has read itself. */
  #addHashes(entries: Entry[]): void {
    const files = entries.filter(({ kind }) => kind === "file");
    if (files.length > HASHED_FILES || files.reduce((sum, { size }) => sum + size, 0) > HASHED_BYTES) return;
    for (const entry of files)
      try {
        const data = fs.readFileSync(this.fileOf(Buffer.from(entry.path_b64, "base64").toString()));
        if (data.length === entry.size) entry.sha256 = createHash("sha256").update(data).digest("hex");
      } catch {}
  }
}

export function statusOf(file: string): fs.BigIntStats | null {
  try {
    return fs.lstatSync(file, { bigint: true });
  } catch {
    return null;
  }
}

export function markOf({ size, mtimeNs, ctimeNs }: fs.BigIntStats): string {
  return `${size}:${mtimeNs}:${ctimeNs}`;
}

export function named(entries: unknown): { shown: string; mark: string }[] {
  return ((entries ?? []) as Entry[]).map(({ path_b64, size, mtime_ns, ctime_ns }) => ({
    shown: Buffer.from(path_b64, "base64").toString(),
    mark: `${size}:${mtime_ns}:${ctime_ns}`,
  }));
}

export function kindOf(status: fs.BigIntStats): Entry["kind"] {
  if (status.isFile()) return "file";
  if (status.isDirectory()) return "directory";
  if (status.isSymbolicLink()) return "symlink";
  if (status.isFIFO()) return "fifo";
  return status.isSocket() ? "socket" : "device";
}

function entryOf(shown: string, status: fs.BigIntStats): Entry {
  return {
    path_b64: Buffer.from(shown).toString("base64"),
    size: Number(status.size),
    mtime_ns: String(status.mtimeNs),
    ctime_ns: String(status.ctimeNs),
    kind: kindOf(status),
  };
}

function names(folder: string): string[] {
  try {
    return fs.readdirSync(folder);
  } catch {
    return [];
  }
}

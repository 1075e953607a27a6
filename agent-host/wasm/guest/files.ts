/** @module Looking at files and moving them about. */
import fs from "node:fs";
import path from "node:path";
import { kindOf, statusOf } from "./artifacts.ts";
import { CallError } from "./call-error.ts";
import type { Place, Storage } from "./storage.ts";

const PAGE = 1000;
const PAGE_BYTES = 600_000;
const DEPTH = 64;

type Params = Record<string, unknown>;

export class Files {
  readonly #storage: Storage;

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** `readable`: for somebody who would read it, so what cannot be read is refused in the same words. */
  stat(params: Params): object {
    const place = this.#storage.place(params);
    const entry = describe(place.shown, place.real);
    if (params.readable === true && entry.type !== "file" && entry.type !== "directory")
      throw new CallError("NOT_A_FILE", `the path is a ${entry.type}`);
    return entry;
  }

  /** Entries below a folder in the order of their names, a page at a time. */
  list(params: Params): object {
    const root = this.#storage.place(params);
    const depth = Math.min(Math.max(Number(params.depth) || 1, 1), DEPTH);
    const limit = Math.min(Math.max(Number(params.limit) || PAGE, 1), PAGE);
    const after = cursorOf(params.cursor);
    const status = statusOf(root.real);
    if (!status?.isDirectory())
      throw new CallError(status ? "NOT_A_FOLDER" : "NOT_FOUND", "the path is not a folder");
    const entries: object[] = [];
    let size = 0;
    let last = "";
    for (const name of walk(root.real, "", depth, after)) {
      if (entries.length >= limit || size > PAGE_BYTES)
        return { entries, next_cursor: Buffer.from(last).toString("base64url") };
      last = name;
      try {
        entries.push(describe(`${root.shown}/${name}`, `${root.real}/${name}`));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      }
      size += 3 * name.length + 200;
    }
    return { entries, next_cursor: null };
  }

  mkdir(params: Params): object {
    const place = this.#storage.place(params);
    const made = !statusOf(place.real)?.isDirectory();
    if (made && place.readOnly) throw new CallError("PATH_NOT_PERMITTED", "this folder can only be read");
    if (made) fs.mkdirSync(place.real, { recursive: params.parents !== false });
    return { ...describe(place.shown, place.real), created: made };
  }

  move(params: Params): object {
    const from = this.#storage.placeToChange(params, "from");
    const to = this.#storage.placeToChange(params, "to");
    fs.lstatSync(from.real);
    if (params.mkdirs === true) fs.mkdirSync(path.dirname(to.real), { recursive: true });
    if (params.overwrite !== true && statusOf(to.real))
      throw new CallError("PATH_EXISTS", "the destination exists; overwrite: true replaces it");
    fs.renameSync(from.real, to.real);
    return describe(to.shown, to.real);
  }

  remove(params: Params): object {
    const place = this.#storage.placeToChange(params);
    if (!fs.lstatSync(place.real).isDirectory()) fs.unlinkSync(place.real);
    else if (params.recursive === true) fs.rmSync(place.real, { recursive: true });
    else fs.rmdirSync(place.real);
    return {};
  }
}

export function describe(shown: string, real: string) {
  const status = fs.lstatSync(real, { bigint: true });
  const type = kindOf(status);
  return {
    path: shown,
    name: path.posix.basename(shown),
    type,
    size: Number(status.size),
    mode: Number(status.mode & 0o7777n),
    mtime_ns: String(status.mtimeNs),
    ...(type === "symlink" && { target: fs.readlinkSync(real) }),
  };
}

export function mustBeFile(place: Place): fs.BigIntStats {
  const status = fs.lstatSync(place.real, { bigint: true });
  if (!status.isFile()) throw new CallError("NOT_A_FILE", `the path is a ${kindOf(status)}`);
  return status;
}

function cursorOf(text: unknown): string[] {
  if (typeof text !== "string" || !text) return [];
  if (!/^[\w-]+$/.test(text)) throw new CallError("VALIDATION_FAILED", "the cursor is not one of a listing");
  return Buffer.from(text, "base64url").toString().split("/");
}

/** Parents before children. `after`: the components below here of the last entry that was seen. */
function* walk(root: string, below: string, depth: number, after: string[]): Generator<string> {
  const [first] = after;
  let found: string[];
  try {
    found = fs.readdirSync(below ? `${root}/${below}` : root);
  } catch (error) {
    if (below) return;
    throw error;
  }
  for (const name of found.sort(byBytes)) {
    if (first !== undefined && byBytes(name, first) < 0) continue;
    const shown = below ? `${below}/${name}` : name;
    const resumed = name === first;
    if (!resumed) yield shown;
    if (depth > 1 && statusOf(`${root}/${shown}`)?.isDirectory())
      yield* walk(root, shown, depth - 1, resumed ? after.slice(1) : []);
  }
}

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/**
 * What a dead sandbox left in /session/artifacts. Its guest cannot be asked any more, but the folder is on this host. Nothing
 * runs in there now; still, what lies there is the tenant's: links are not followed, and only regular files are opened.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { type FileHandle, lstat, readdir, rmdir, unlink } from "node:fs/promises";
import type { Readable } from "node:stream";
import { type ArtifactEntry, SMALL_BLOB_BYTES } from "@sandbar/shared";
import { inside, openEntry, openFolder } from "../io/unfollowed.ts";
import { type ArtifactFolder, type Found, ingestFile, type Settled } from "./artifact-folder.ts";
import type { PushFile } from "./push-file.ts";

/** The same as a guest looks at. */
const ENTRIES = 2000;
const LOOKS = 20_000;
const CHUNK = 1024 * 1024;
const SLASH = Buffer.from("/");

export class LeftArtifacts implements ArtifactFolder {
  readonly #session: string;
  #settled: Promise<void> = Promise.resolve();

  /** `session` is the folder that was /session. */
  constructor(session: string) {
    this.#session = session;
  }

  /** Empty when there is no such folder, or a link in its place. */
  async scan(): Promise<ArtifactEntry[]> {
    await this.#settled;
    const entries: ArtifactEntry[] = [];
    const waiting: Buffer[][] = [[]];
    let looks = 0;
    const full = () => looks >= LOOKS || entries.length >= ENTRIES;
    while (waiting.length > 0 && !full()) {
      const parts = waiting.pop()!;
      const folder = await this.#open(parts).catch(() => null);
      if (!folder) continue;
      try {
        for (const name of await readdir(inside(folder, "."), { encoding: "buffer" })) {
          looks++;
          if (full()) break;
          const status = await lstat(inside(folder, name), { bigint: true }).catch(() => null);
          if (!status) continue;
          if (status.isDirectory()) waiting.push([...parts, name]);
          else entries.push(entryOf([...parts, name], status));
        }
      } finally {
        await folder.close();
      }
    }
    return entries;
  }

  async read(
    group: readonly Found[],
    skip: (found: Found, reason: string) => void,
    signal: AbortSignal,
  ): Promise<Map<PushFile, Found>> {
    const read = new Map<PushFile, Found>();
    for (const found of group) {
      signal.throwIfAborted();
      const file = await this.#file(found).catch((error: Error) => {
        skip(found, `cannot be read: ${error.message}`);
        return null;
      });
      if (file) read.set(file, found);
    }
    return read;
  }

  /** A scan that is asked for later finds them gone. */
  settle({ remove = [] }: Settled): Promise<void> {
    this.#settled = this.#settled.then(() => this.#removeAll(remove));
    return this.#settled;
  }

  async #removeAll(entries: readonly ArtifactEntry[]): Promise<void> {
    for (const entry of entries) {
      const parts = partsOf(entry);
      await this.#remove(parts, entry).catch(() => {});
      // Folders that are empty now; one that is not ends it.
      for (let depth = parts.length - 1; depth > 0; depth--)
        if (!(await this.#removeFolder(parts.slice(0, depth)))) break;
    }
  }

  async #file(found: Found): Promise<PushFile> {
    const { entry } = found;
    const small = entry.size <= SMALL_BLOB_BYTES;
    const hash = createHash("sha256");
    const held: Buffer[] = [];
    let size = 0;
    for await (const chunk of await this.#stream(entry, 0, entry.size)) {
      hash.update(chunk as Buffer);
      size += (chunk as Buffer).length;
      if (small) held.push(chunk as Buffer);
    }
    if (size !== entry.size) throw new Error("it became shorter");
    return {
      ...ingestFile(found, hash.digest("hex")),
      content: small ? held : (offset, length) => this.#stream(entry, offset, length),
    };
  }

  async #stream(entry: ArtifactEntry, offset: number, length: number): Promise<Readable> {
    const parts = partsOf(entry);
    const folder = await this.#open(parts.slice(0, -1));
    let file: FileHandle;
    try {
      // Looked at first: opening a device may already do something.
      await requireSame(await lstat(inside(folder, parts.at(-1)!), { bigint: true }), entry);
      file = await openEntry(folder, parts.at(-1)!);
    } finally {
      await folder.close();
    }
    try {
      await requireSame(await file.stat({ bigint: true }), entry);
    } catch (error) {
      await file.close();
      throw error;
    }
    // `end` is the last byte, which an empty file does not have.
    return file.createReadStream({
      start: offset,
      end: offset + length - 1 + (length === 0 ? 1 : 0),
      highWaterMark: CHUNK,
    });
  }

  async #remove(parts: Buffer[], entry: ArtifactEntry): Promise<void> {
    const folder = await this.#open(parts.slice(0, -1));
    try {
      const path = inside(folder, parts.at(-1)!);
      await requireSame(await lstat(path, { bigint: true }), entry);
      await unlink(path);
    } finally {
      await folder.close();
    }
  }

  async #removeFolder(parts: Buffer[]): Promise<boolean> {
    try {
      const parent = await this.#open(parts.slice(0, -1));
      await rmdir(inside(parent, parts.at(-1)!)).finally(() => parent.close());
      return true;
    } catch {
      return false;
    }
  }

  async #open(parts: readonly Buffer[]): Promise<FileHandle> {
    return openFolder(this.#session, ["artifacts", ...parts]);
  }
}

function entryOf(parts: Buffer[], status: BigIntStats): ArtifactEntry {
  const path = parts.flatMap((part, index) => (index === 0 ? [part] : [SLASH, part]));
  return {
    path_b64: Buffer.concat(path).toString("base64"),
    size: Number(status.size),
    mtime_ns: String(status.mtimeNs),
    ctime_ns: String(status.ctimeNs),
    kind: kindOf(status),
  };
}

function kindOf(status: BigIntStats): ArtifactEntry["kind"] {
  if (status.isFile()) return "file";
  if (status.isSymbolicLink()) return "symlink";
  if (status.isFIFO()) return "fifo";
  return status.isSocket() ? "socket" : "device";
}

function partsOf({ path_b64 }: ArtifactEntry): Buffer[] {
  const path = Buffer.from(path_b64, "base64");
  const parts: Buffer[] = [];
  for (let start = 0; start <= path.length; ) {
    const end = path.indexOf(SLASH, start);
    parts.push(path.subarray(start, end < 0 ? path.length : end));
    start = end < 0 ? path.length + 1 : end + 1;
  }
  return parts;
}

/** Not by its change time: that of a file with several names changes when one of them is removed. */
async function requireSame(status: BigIntStats, entry: ArtifactEntry): Promise<void> {
  const same =
    status.isFile() && status.size === BigInt(entry.size) && String(status.mtimeNs) === entry.mtime_ns;
  if (!same) throw new Error("it is not what it was");
}

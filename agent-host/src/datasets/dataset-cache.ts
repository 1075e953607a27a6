/**
 * Datasets by hash, a folder for each tenant, so that a second session of the tenant needs no transfer. Nothing of it is ever
 * mounted or linked into a sandbox. The least recently used go when the cache is too large.
 *
 * @module
 */
import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat, utimes } from "node:fs/promises";
import path from "node:path";
import { type Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SandbarError } from "@sandbar/shared";
import { tooLarge } from "./dataset-fetch.ts";

const PART = ".part-";
const CHUNK = 1024 * 1024;

export interface Cached {
  readonly sha256: string;
  readonly size: number;
  /** Fails at its end with `DamagedError` if these are not the bytes any more. */
  open(): Readable;
  /** Until then it is not let go. */
  release(): void;
}

/** The disk gave something else than was written to it; it is not in the cache any more. */
export class DamagedError extends SandbarError {
  constructor() {
    super("DATASET_FAILED", "the host's copy was damaged; stage it again");
  }
}

export class DatasetCache {
  readonly #root: string;
  readonly #maxBytes: number;
  readonly #used = new Map<string, number>();
  #trimming: Promise<void> = Promise.resolve();

  constructor(home: string, maxBytes: number) {
    this.#root = path.join(home, "datasets");
    this.#maxBytes = maxBytes;
  }

  /** What an earlier daemon did not finish. */
  async clear(): Promise<void> {
    for (const { file } of await this.#files())
      if (path.basename(file).startsWith(PART)) await rm(file, { force: true });
  }

  async find(tenant: string, sha256: string): Promise<Cached | null> {
    const file = path.join(this.#folder(tenant), sha256);
    try {
      const { size } = await stat(file);
      const now = new Date();
      await utimes(file, now, now);
      return this.#hold(file, sha256, size);
    } catch {
      return null;
    }
  }

  /** Reads the stream to its end, which must be what `expected` says. */
  async add(
    tenant: string,
    source: Readable,
    { expected, maxBytes, signal }: { expected: string | null; maxBytes: number; signal: AbortSignal },
  ): Promise<Cached> {
    const folder = this.#folder(tenant);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const part = path.join(folder, PART + randomUUID());
    const hash = createHash("sha256");
    let size = 0;
    async function* measured(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
      for await (const chunk of chunks) {
        size += chunk.length;
        if (size > maxBytes) throw tooLarge(maxBytes);
        hash.update(chunk);
        yield chunk;
      }
    }
    try {
      await pipeline(source, measured, createWriteStream(part, { mode: 0o600 }), { signal });
      const sha256 = hash.digest("hex");
      if (expected && sha256 !== expected)
        throw new SandbarError("DATASET_FAILED", `the bytes have the SHA-256 ${sha256}, not ${expected}`);
      const file = path.join(folder, sha256);
      await rename(part, file);
      return this.#hold(file, sha256, size);
    } catch (error) {
      await rm(part, { force: true });
      if ((error as NodeJS.ErrnoException).code === "ENOSPC")
        throw new SandbarError("STORAGE_FULL", "the host's disk is full");
      throw error;
    }
  }

  /** After a use, so that even a dataset larger than the cache can be staged. */
  trim(maxBytes = this.#maxBytes): Promise<void> {
    this.#trimming = this.#trimming.then(() => this.#trim(maxBytes)).catch(() => {});
    return this.#trimming;
  }

  async #trim(maxBytes: number): Promise<void> {
    const files = (await this.#files()).filter(({ file }) => !path.basename(file).startsWith(PART));
    files.sort((a, b) => a.used - b.used);
    let total = files.reduce((sum, { size }) => sum + size, 0);
    for (const { file, size } of files) {
      if (total <= maxBytes) return;
      if (this.#used.has(file)) continue;
      await rm(file, { force: true });
      total -= size;
    }
  }

  async #files(): Promise<{ file: string; size: number; used: number }[]> {
    const names = await readdir(this.#root, { recursive: true, withFileTypes: true }).catch(() => []);
    const files = names
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => path.join(parentPath, name));
    const found = files.map(async (file) => {
      const status = await stat(file).catch(() => null);
      return status ? [{ file, size: status.size, used: status.mtimeMs }] : [];
    });
    return (await Promise.all(found)).flat();
  }

  #hold(file: string, sha256: string, size: number): Cached {
    this.#used.set(file, (this.#used.get(file) ?? 0) + 1);
    const release = () => {
      const left = (this.#used.get(file) ?? 1) - 1;
      if (left > 0) this.#used.set(file, left);
      else this.#used.delete(file);
    };
    return { sha256, size, release, open: () => checked(file, sha256) };
  }

  /** A tenant's name is the folder's, unless it could be read as something else. */
  #folder(tenant: string): string {
    const plain = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,63}$/.test(tenant);
    return path.join(this.#root, plain ? tenant : `=${createHash("sha256").update(tenant).digest("hex")}`);
  }
}

function checked(file: string, sha256: string): Readable {
  const hash = createHash("sha256");
  const stream = new Transform({
    readableHighWaterMark: CHUNK,
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk);
      done(null, chunk);
    },
    flush(done) {
      if (hash.digest("hex") === sha256) return done();
      rm(file, { force: true }).then(() => done(new DamagedError()), done);
    },
  });
  // The reader of the stream sees the error; nobody waits for the pipeline itself.
  pipeline(createReadStream(file, { highWaterMark: CHUNK }), stream).catch(() => {});
  return stream;
}

/**
 * Streams into the control plane's store: cut into chunks, asked about in batches, and only what the tenant lacks is brought.
 * Two batches are on their way at most, which is all that is held in memory.
 *
 * @module
 */
import { createHash } from "node:crypto";
import {
  CHUNK_BATCH,
  CHUNK_BATCH_BYTES,
  type Chunk,
  ChunkCheckAnswerSchema,
  type ChunkedStream,
  SandbarError,
  SNAPSHOT_CHUNK_LIMIT,
} from "@sandbar/shared";
import type { Patience } from "../control-plane/patience.ts";
import type { Claim, SignedRequests } from "../control-plane/signed-requests.ts";
import { chunked } from "./chunker.ts";

const ON_THEIR_WAY = 2;

export interface ChunkTarget extends Claim {
  readonly snapshot: string;
}

type Held = readonly [chunk: Chunk, bytes: Buffer];

export class ChunkUpload {
  readonly #plane: SignedRequests;
  readonly #target: ChunkTarget;
  readonly #patience: Patience;
  readonly #signal: AbortSignal;
  /** Of this snapshot: what was given once is not asked about again. */
  readonly #known = new Set<string>();
  /** Of this snapshot, repeated ones too: a sparse file has few that differ, and no end. */
  #count = 0;
  #batch: Held[] = [];
  #batchBytes = 0;
  readonly #sending: Promise<void>[] = [];

  constructor(plane: SignedRequests, target: ChunkTarget, patience: Patience, signal: AbortSignal) {
    this.#plane = plane;
    this.#target = target;
    this.#patience = patience;
    this.#signal = signal;
  }

  /** All of the source. Its last chunks may wait for others to go with them. */
  add(source: AsyncIterable<Buffer>): Promise<ChunkedStream> {
    return this.addChunks(chunked(source));
  }

  /** A source that is cut already. */
  async addChunks(source: AsyncIterable<Buffer>): Promise<ChunkedStream> {
    const chunks: Chunk[] = [];
    let size = 0;
    for await (const bytes of source) {
      if (++this.#count > SNAPSHOT_CHUNK_LIMIT)
        throw new SandbarError(
          "LIMIT_EXCEEDED",
          `a snapshot may have ${SNAPSHOT_CHUNK_LIMIT} chunks; holes of sparse files count as bytes`,
        );
      const chunk: Chunk = [createHash("sha256").update(bytes).digest("hex"), bytes.length];
      size += bytes.length;
      chunks.push(chunk);
      if (this.#known.has(chunk[0])) continue;
      this.#known.add(chunk[0]);
      if (this.#batch.length === CHUNK_BATCH || this.#batchBytes + bytes.length > CHUNK_BATCH_BYTES)
        await this.#send();
      this.#batch.push([chunk, bytes]);
      this.#batchBytes += bytes.length;
    }
    return { size, chunks };
  }

  /** Resolves when everything that was given is there. */
  async finish(): Promise<void> {
    if (this.#batch.length > 0) await this.#send();
    await Promise.all(this.#sending.splice(0));
  }

  async #send(): Promise<void> {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    while (this.#sending.length >= ON_THEIR_WAY) await this.#sending.shift();
    const sent = this.#bring(batch);
    // Whoever waits for it hears of its failure.
    sent.catch(() => {});
    this.#sending.push(sent);
  }

  async #bring(batch: readonly Held[]): Promise<void> {
    const { session, snapshot } = this.#target;
    const body = { session, snapshot, chunks: batch.map(([chunk]) => chunk) };
    const { missing } = ChunkCheckAnswerSchema.parse(
      await this.#patience.until(() =>
        this.#plane.request(this.#target, "POST", "/agent/snapshots/check", body, this.#signal),
      ),
    );
    const lacking = batch.filter(([[sha256]]) => missing.includes(sha256));
    if (lacking.length === 0) return;
    const header = { session, snapshot, chunks: lacking.map(([chunk]) => chunk) };
    const parts = [Buffer.from(`${JSON.stringify(header)}\n`), ...lacking.map(([, bytes]) => bytes)];
    await this.#patience.until(() =>
      this.#plane.request(this.#target, "PUT", "/agent/snapshots/chunks", parts, this.#signal),
    );
  }
}

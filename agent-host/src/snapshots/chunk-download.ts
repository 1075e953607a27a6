/**
 * Chunks of a snapshot from the control plane's store, in order, each checked before anybody sees a byte of it. A few
 * at a time are asked for, and the next few while those are used.
 *
 * @module
 */
import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import {
  CHUNK_BATCH,
  CHUNK_BATCH_BYTES,
  type Chunk,
  ChunkDamagedAnswerSchema,
  MANIFEST_LIMIT_BYTES,
  type Manifest,
  ManifestSchema,
  readJson,
  SandbarError,
} from "@sandbar/shared";
import type { Patience } from "../control-plane/patience.ts";
import { type SignedRequests, Unreachable } from "../control-plane/signed-requests.ts";
import { ByteSource } from "../io/byte-source.ts";
import type { ChunkTarget } from "./chunk-upload.ts";

/** One after another without a chunk between them. */
const CUTS = 5;

export class ChunkDownload {
  readonly #plane: SignedRequests;
  readonly #target: ChunkTarget;
  readonly #patience: Patience;
  readonly #signal: AbortSignal;

  constructor(plane: SignedRequests, target: ChunkTarget, patience: Patience, signal: AbortSignal) {
    this.#plane = plane;
    this.#target = target;
    this.#patience = patience;
    this.#signal = signal;
  }

  async manifest(digest: string): Promise<Manifest> {
    const bytes = await this.#patience.until(async () => {
      const answer = await this.#open([digest]);
      const parts: Buffer[] = [];
      let length = 0;
      for await (const part of received(answer)) {
        length += part.length;
        if (length > MANIFEST_LIMIT_BYTES) throw damaged("the manifest is too long");
        parts.push(part);
      }
      return Buffer.concat(parts);
    });
    await this.#check(digest, bytes);
    const parsed = ManifestSchema.safeParse(readJson(bytes.toString()));
    if (!parsed.success) throw damaged("this host cannot read the manifest");
    return parsed.data;
  }

  stream(chunks: readonly Chunk[]): Readable {
    return Readable.from(this.#pieces(chunks), { objectMode: false });
  }

  async *#pieces(chunks: readonly Chunk[]): AsyncGenerator<Buffer> {
    const groups = grouped(chunks);
    let next = groups[0] && this.#ahead(groups[0]);
    let answer: IncomingMessage | null = null;
    let cuts = 0;
    try {
      for (const [i, group] of groups.entries()) {
        let opened = next!;
        const after = groups[i + 1];
        next = after && this.#ahead(after);
        for (let done = 0; done < group.length; ) {
          answer = await opened;
          const source = new ByteSource(received(answer));
          try {
            for (; done < group.length; done++) {
              const [sha256, size] = group[done]!;
              const bytes = await source.exactly(size);
              await this.#check(sha256, bytes);
              cuts = 0;
              yield bytes;
            }
          } catch (error) {
            // Opened again where it was cut, unless that leads nowhere.
            if (!(error instanceof Unreachable)) throw error;
            if (++cuts > CUTS) throw (await this.#isDamaged(group[done]![0])) ? lost(group[done]![0]) : error;
            opened = this.#ahead(group.slice(done));
          }
        }
      }
    } finally {
      answer?.destroy();
      void next?.then(
        (unused) => unused.destroy(),
        () => {},
      );
    }
  }

  #ahead(group: readonly Chunk[]): Promise<IncomingMessage> {
    const opened = this.#patience.until(() => this.#open(group.map(([sha256]) => sha256)));
    opened.catch(() => {});
    return opened;
  }

  #open(chunks: readonly string[]): Promise<IncomingMessage> {
    const { session, snapshot } = this.#target;
    const body = { session, snapshot, chunks };
    return this.#plane.open(this.#target, "/agent/snapshots/read", body, this.#signal);
  }

  async #check(sha256: string, bytes: Buffer): Promise<void> {
    if (createHash("sha256").update(bytes).digest("hex") === sha256) return;
    await this.#isDamaged(sha256).catch(() => {});
    throw lost(sha256);
  }

  /** The store looks for itself, and the next snapshot brings anew what was. */
  async #isDamaged(sha256: string): Promise<boolean> {
    const { session, snapshot } = this.#target;
    const told = { session, snapshot, sha256 };
    return ChunkDamagedAnswerSchema.parse(
      await this.#plane.request(this.#target, "POST", "/agent/snapshots/damaged", told, this.#signal),
    ).damaged;
  }
}

async function* received(answer: IncomingMessage): AsyncGenerator<Buffer> {
  try {
    for await (const part of answer) yield part as Buffer;
  } catch (error) {
    throw new Unreachable((error as Error).message);
  }
  if (!answer.complete) throw new Unreachable("the answer was cut");
}

function grouped(chunks: readonly Chunk[]): Chunk[][] {
  const groups: Chunk[][] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    const group = groups.at(-1);
    bytes += chunk[1];
    if (group && group.length < CHUNK_BATCH && bytes <= CHUNK_BATCH_BYTES) group.push(chunk);
    else {
      groups.push([chunk]);
      bytes = chunk[1];
    }
  }
  return groups;
}

const lost = (sha256: string) => damaged(`a chunk is not the one that was stored (${sha256})`);
const damaged = (why: string) => new SandbarError("SNAPSHOT_DAMAGED", why);

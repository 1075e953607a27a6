/**
 * Content-defined chunking (FastCDC): borders follow the bytes themselves, so that a change in a stream changes the chunks
 * around it and no others. `docs/snapshots.md` has the constants; other ones would cut the same bytes elsewhere.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { CHUNK_AVERAGE_BYTES, CHUNK_MAX_BYTES, CHUNK_MIN_BYTES } from "@sandbar/shared";

/** A number for each value of a byte, the same for ever: the beginning of the SHA-256 of a name. */
const GEAR = Uint32Array.from({ length: 256 }, (_, byte) =>
  createHash("sha256").update(`sandbar-gear-${byte}`).digest().readUInt32BE(0),
);
/** So many leading zeros end a chunk: before its average size a rare thing, after it a frequent one. */
const RARE = 32 - 22;
const FREQUENT = 32 - 18;

/** Holds one chunk at a time, whatever the source has. */
export async function* chunked(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let held = Buffer.allocUnsafe(CHUNK_MAX_BYTES);
  let length = 0;
  let looked = 0;
  let hash = 0;
  for await (const piece of source) {
    for (let at = 0; at < piece.length; ) {
      const taken = piece.copy(held, length, at, at + CHUNK_MAX_BYTES - length);
      at += taken;
      length += taken;
      for (;;) {
        const found = border(held, length, looked, hash);
        ({ looked, hash } = found);
        if (!found.ends) break;
        const rest = Buffer.allocUnsafe(CHUNK_MAX_BYTES);
        held.copy(rest, 0, looked, length);
        yield held.subarray(0, looked);
        length -= looked;
        held = rest;
        looked = 0;
        hash = 0;
      }
    }
  }
  if (length > 0) yield held.subarray(0, length);
}

/** How far one could look, and whether the chunk ends there. */
function border(bytes: Buffer, length: number, from: number, hashed: number) {
  let hash = hashed;
  let i = Math.max(from, CHUNK_MIN_BYTES);
  if (i >= length) return { ends: false, looked: from, hash };
  const middle = Math.min(length, CHUNK_AVERAGE_BYTES);
  for (; i < middle; i++) {
    hash = ((hash << 1) + GEAR[bytes[i]!]!) | 0;
    if (hash >>> RARE === 0) return { ends: true, looked: i + 1, hash };
  }
  for (; i < length; i++) {
    hash = ((hash << 1) + GEAR[bytes[i]!]!) | 0;
    if (hash >>> FREQUENT === 0) return { ends: true, looked: i + 1, hash };
  }
  return { ends: length === CHUNK_MAX_BYTES, looked: length, hash };
}

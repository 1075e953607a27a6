import { createHash } from "node:crypto";
import { CHUNK_MAX_BYTES, CHUNK_MIN_BYTES } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { chunked } from "./chunker.ts";

/** Bytes that look like noise and are the same in every run. */
function noise(length: number, seed = 1): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let state = seed;
  for (let i = 0; i + 4 <= length; i += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes.writeInt32LE(state, i);
  }
  return bytes;
}

async function* pieces(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

async function cut(bytes: Buffer, size = 65_536): Promise<Buffer[]> {
  const all: Buffer[] = [];
  for await (const chunk of chunked(pieces(bytes, size))) all.push(chunk);
  return all;
}

const names = (chunks: Buffer[]) => chunks.map((chunk) => createHash("sha256").update(chunk).digest("hex"));

describe("chunks", () => {
  const bytes = noise(16 * 1024 * 1024);

  it("are all of the bytes, in order, each within its bounds", async () => {
    const chunks = await cut(bytes);
    expect(Buffer.concat(chunks).equals(bytes)).toBe(true);
    for (const chunk of chunks.slice(0, -1)) {
      expect(chunk.length).toBeGreaterThanOrEqual(CHUNK_MIN_BYTES);
      expect(chunk.length).toBeLessThanOrEqual(CHUNK_MAX_BYTES);
    }
    expect(chunks.length).toBeGreaterThan(10);
  });

  it("do not depend on how the bytes came", async () => {
    const sizes = [1_000, 65_536, bytes.length];
    const [first, ...others] = await Promise.all(sizes.map(async (size) => names(await cut(bytes, size))));
    for (const other of others) expect(other).toEqual(first);
  });

  it("stay the same around a change, also one that moves everything after it", async () => {
    const at = 7_000_000;
    const changed = Buffer.concat([
      bytes.subarray(0, at),
      Buffer.from("a few bytes more"),
      bytes.subarray(at),
    ]);
    const before = new Set(names(await cut(bytes)));
    const fresh = names(await cut(changed)).filter((name) => !before.has(name));
    expect(fresh.length).toBeGreaterThan(0);
    expect(fresh.length).toBeLessThanOrEqual(3);
  });

  it("of nothing are none, and bytes without any border are cut at the most", async () => {
    expect(await cut(Buffer.alloc(0))).toEqual([]);
    const sizes = (await cut(Buffer.alloc(CHUNK_MAX_BYTES * 2 + 5))).map(({ length }) => length);
    expect(sizes).toEqual([CHUNK_MAX_BYTES, CHUNK_MAX_BYTES, 5]);
  });

  it("stay where they were cut: other borders would store everything anew", async () => {
    expect((await cut(noise(8 * 1024 * 1024))).map(({ length }) => length)).toMatchInlineSnapshot(`
      [
        475866,
        1374137,
        896364,
        1172010,
        1124378,
        1477699,
        1077213,
        790941,
      ]
    `);
  });
});

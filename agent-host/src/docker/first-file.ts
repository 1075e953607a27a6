/** @module The text of the first file of a tar stream that should have no other. */

const BLOCK = 512;

/** Null when there is none, or it is larger than the limit. */
export async function firstFile(
  archive: AsyncIterable<Uint8Array | string>,
  limit: number,
): Promise<string | null> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of archive) {
    chunks.push(Buffer.from(chunk as Uint8Array));
    length += chunk.length;
    if (length > limit + 16 * BLOCK) return null;
  }
  const bytes = Buffer.concat(chunks);
  for (let at = 0; at + BLOCK <= bytes.length; ) {
    // Its end is blocks of nothing.
    if (bytes[at] === 0) return null;
    const size = Number.parseInt(bytes.toString("latin1", at + 124, at + 136), 8) || 0;
    const type = bytes[at + 156];
    const begin = at + BLOCK;
    if (type === 0 || type === 0x30)
      return size <= limit && begin + size <= bytes.length
        ? bytes.toString("utf8", begin, begin + size)
        : null;
    at = begin + Math.ceil(size / BLOCK) * BLOCK;
  }
  return null;
}

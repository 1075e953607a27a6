/** @module Takes a stream of bytes apart: lines, exact lengths, and pieces too large to hold. */

export class ByteSource {
  readonly #chunks: AsyncIterator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(stream: AsyncIterable<Buffer>) {
    this.#chunks = stream[Symbol.asyncIterator]();
  }

  async line(limit: number): Promise<string> {
    const parts: Buffer[] = [];
    for (let length = 0; ; ) {
      const end = this.#held.indexOf(10);
      const part = end < 0 ? this.#held : this.#held.subarray(0, end);
      parts.push(part);
      length += part.length;
      if (length > limit) throw new Error("a line is too long");
      this.#held = this.#held.subarray(end < 0 ? part.length : end + 1);
      if (end >= 0) return Buffer.concat(parts).toString();
      await this.#more();
    }
  }

  async exactly(length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.pieces(length)) parts.push(part);
    return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
  }

  async *pieces(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0; ) {
      if (this.#held.length === 0) await this.#more();
      const part = this.#held.subarray(0, left);
      this.#held = this.#held.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }

  async #more(): Promise<void> {
    const { done, value } = await this.#chunks.next();
    if (done) throw new Error("the stream ended early");
    this.#held = value;
  }
}

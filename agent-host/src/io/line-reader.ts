/** @module Cuts a byte stream into lines, bounded before anything is parsed. */

const NEWLINE = 0x0a;
const PIECES = 1024;

export class LineTooLong extends Error {}

export class LineReader {
  readonly #limit: number;
  #parts: Buffer[] = [];
  #held = 0;

  constructor(limitBytes: number) {
    this.#limit = limitBytes;
  }

  /** Complete lines in order; throws `LineTooLong` as soon as one cannot end within the limit. */
  *push(chunk: Buffer): Generator<string> {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const tail = chunk.subarray(start, end);
      start = end + 1;
      if (this.#held + tail.length > this.#limit) throw new LineTooLong();
      if (this.#held === 0) yield tail.toString("utf8");
      else {
        const line = Buffer.concat([...this.#parts, tail]).toString("utf8");
        this.#parts = [];
        this.#held = 0;
        yield line;
      }
    }
    if (start < chunk.length) {
      this.#held += chunk.length - start;
      if (this.#held > this.#limit) throw new LineTooLong();
      this.#parts.push(chunk.subarray(start));
      // Each piece costs more than a few bytes.
      if (this.#parts.length >= PIECES) this.#parts = [Buffer.concat(this.#parts)];
    }
  }
}

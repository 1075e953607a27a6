/** @module Entries of a tar archive as they come: ustar, GNU's long names and PAX headers, each bounded. */
import { CallError } from "./call-error.ts";

const BLOCK = 512;
const HEADER_BYTES = 1024 * 1024;

export interface TarMember {
  readonly name: string;
  readonly type: "file" | "directory" | "link" | "other";
  readonly size: number;
  readonly mode: number;
  readonly mtimeS: number;
}

export class TarReader {
  readonly #chunks: AsyncIterator<Buffer>;
  #ahead: Buffer = Buffer.alloc(0);
  #unread = 0;
  #global: Record<string, string> = {};
  #headers = 0;

  constructor(chunks: AsyncIterable<Buffer>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** The next entry; what was not read of the one before is passed over. */
  async next(): Promise<TarMember | null> {
    let own: Record<string, string> = {};
    let longName: string | null = null;
    for (;;) {
      await this.#skip();
      const header = await this.#take(BLOCK, true);
      if (!header || header.every((byte) => byte === 0)) return null;
      checkSum(header);
      const type = String.fromCharCode(header[156]!);
      const size = number(header, 124, 12);
      if ("xgLK".includes(type)) {
        this.#headers = type === "g" ? this.#headers + size : this.#headers;
        if (size > HEADER_BYTES || this.#headers > HEADER_BYTES)
          throw invalid(`an extended header is larger than ${HEADER_BYTES} bytes`);
        const body = (await this.#take(size))!;
        this.#unread = padding(size);
        if (type === "x") own = records(body);
        else if (type === "g") this.#global = { ...this.#global, ...records(body) };
        else if (type === "L") longName = text(body);
        continue;
      }
      const said: Record<string, string> = { ...this.#global, ...own };
      if (type === "S" || Object.keys(said).some((key) => key.startsWith("GNU.sparse")))
        throw invalid("sparse entries are not supported");
      const prefix = header.subarray(257, 262).toString() === "ustar" ? text(header.subarray(345, 500)) : "";
      const plain = text(header.subarray(0, 100));
      const length = said.size === undefined ? size : Number(said.size);
      if (!Number.isSafeInteger(length) || length < 0) throw invalid("an entry has no size that makes sense");
      const name = said.path ?? longName ?? (prefix ? `${prefix}/${plain}` : plain);
      const kind = kindOf(type, name);
      const mtimeS = said.mtime === undefined ? number(header, 136, 12) : Number(said.mtime) || 0;
      this.#unread = kind === "file" ? length + padding(length) : 0;
      return { name, type: kind, size: kind === "file" ? length : 0, mode: number(header, 100, 8), mtimeS };
    }
  }

  async *body({ size, name }: TarMember): AsyncGenerator<Buffer> {
    let left = size;
    while (left > 0) {
      if (this.#ahead.length === 0 && !(await this.#more())) throw invalid(`'${name}' is cut short`);
      const piece = this.#ahead.subarray(0, left);
      this.#ahead = this.#ahead.subarray(piece.length);
      left -= piece.length;
      this.#unread -= piece.length;
      yield piece;
    }
  }

  async #skip(): Promise<void> {
    while (this.#unread > 0) {
      if (this.#ahead.length === 0 && !(await this.#more())) throw invalid("it is cut short");
      const size = Math.min(this.#unread, this.#ahead.length);
      this.#ahead = this.#ahead.subarray(size);
      this.#unread -= size;
    }
  }

  async #take(size: number, mayEnd = false): Promise<Buffer | null> {
    while (this.#ahead.length < size)
      if (!(await this.#more())) {
        if (mayEnd && this.#ahead.length === 0) return null;
        throw invalid("it is cut short");
      }
    const taken = this.#ahead.subarray(0, size);
    this.#ahead = this.#ahead.subarray(size);
    return taken;
  }

  async #more(): Promise<boolean> {
    const { done, value } = await this.#chunks.next();
    if (done) return false;
    this.#ahead = this.#ahead.length ? Buffer.concat([this.#ahead, value]) : value;
    return true;
  }
}

const padding = (size: number) => (BLOCK - (size % BLOCK)) % BLOCK;

function kindOf(type: string, name: string): TarMember["type"] {
  if (type === "5" || (type === "\0" && name.endsWith("/"))) return "directory";
  if (type === "0" || type === "\0" || type === "7") return "file";
  return type === "1" || type === "2" ? "link" : "other";
}

function text(field: Buffer): string {
  const end = field.indexOf(0);
  return field.subarray(0, end < 0 ? field.length : end).toString();
}

/** Octal digits, or GNU's binary numbers. */
function number(header: Buffer, at: number, length: number): number {
  const field = header.subarray(at, at + length);
  if (field[0]! & 0x80) {
    let value = 0;
    for (const byte of field.subarray(1)) value = value * 256 + byte;
    return value;
  }
  const digits = text(field).trim();
  if (!/^[0-7]*$/.test(digits)) throw invalid("a number in a header is none");
  return digits ? Number.parseInt(digits, 8) : 0;
}

function checkSum(header: Buffer): void {
  let sum = 0;
  for (let i = 0; i < BLOCK; i++) sum += i >= 148 && i < 156 ? 32 : header[i]!;
  if (number(header, 148, 8) !== sum) throw invalid("a header's checksum is wrong");
}

function records(body: Buffer): Record<string, string> {
  const found: Record<string, string> = {};
  let at = 0;
  while (at < body.length) {
    const blank = body.indexOf(0x20, at);
    const length = Number(body.subarray(at, blank).toString());
    if (blank < 0 || !Number.isSafeInteger(length) || length < 5 || at + length > body.length)
      throw invalid("an extended header cannot be read");
    const line = body.subarray(blank + 1, at + length - 1).toString();
    const equals = line.indexOf("=");
    if (equals > 0) found[line.slice(0, equals)] = line.slice(equals + 1);
    at += length;
  }
  return found;
}

function invalid(reason: string): CallError {
  return new CallError("ARCHIVE_INVALID", `not a tar archive: ${reason}`.slice(0, 1000));
}

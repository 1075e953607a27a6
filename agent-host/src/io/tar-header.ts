/** @module The header of a tar entry, in the PAX format. Names are bytes, of any length. */

const BLOCK = 512;
const NAME_BYTES = 100;
/** Eleven octal digits. */
const PLAIN_SIZE_LIMIT = 8 ** 11;

export interface TarEntry {
  readonly name: Buffer;
  readonly type: "file" | "directory" | "symlink";
  readonly size: number;
  readonly mode: number;
  readonly mtimeS: number;
  /** Of a symlink. */
  readonly target?: Buffer;
}

const TYPES = { file: "0", symlink: "2", directory: "5" } as const;

export function tarHeader({ name, type, size, mode, mtimeS, target }: TarEntry): Buffer {
  const link = target ?? Buffer.alloc(0);
  const records: Buffer[] = [];
  if (name.length > NAME_BYTES) records.push(paxRecord("path", name));
  if (link.length > NAME_BYTES) records.push(paxRecord("linkpath", link));
  if (size >= PLAIN_SIZE_LIMIT) records.push(paxRecord("size", Buffer.from(String(size))));
  const plainSize = size < PLAIN_SIZE_LIMIT ? size : 0;
  const own = block(name, TYPES[type], plainSize, mode, mtimeS, link);
  if (records.length === 0) return own;
  const extended = Buffer.concat(records);
  const before = block(Buffer.from("pax"), "x", extended.length, 0o644, mtimeS);
  return Buffer.concat([before, extended, tarPadding(extended.length), own]);
}

/** What follows the bytes of a file, so that the next entry begins at a block. */
export function tarPadding(size: number): Buffer {
  return Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
}

export const TAR_END = Buffer.alloc(2 * BLOCK);

function block(
  name: Buffer,
  type: string,
  size: number,
  mode: number,
  mtimeS: number,
  link: Buffer = Buffer.alloc(0),
): Buffer {
  const header = Buffer.alloc(BLOCK);
  name.copy(header, 0, 0, NAME_BYTES);
  header.write(octal(mode & 0o7777, 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(size, 11), 124);
  header.write(octal(Math.min(Math.max(0, Math.floor(mtimeS)), PLAIN_SIZE_LIMIT - 1), 11), 136);
  header.fill(" ", 148, 156);
  header.write(type, 156);
  link.copy(header, 157, 0, NAME_BYTES);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}

const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;

/** `<length> <key>=<value>\n`, where the length counts itself. */
function paxRecord(key: string, value: Buffer): Buffer {
  const rest = key.length + value.length + 3;
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  return Buffer.concat([Buffer.from(`${length} ${key}=`), value, Buffer.from("\n")]);
}

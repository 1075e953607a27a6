/**
 * Folders as tar, both ways. What comes in is untrusted: it is unpacked beside its destination, entry by entry, and moved into
 * place only when all of it was good. Links are refused: a session in WebAssembly has none.
 *
 * @module
 */
import fs from "node:fs";
import { open } from "node:fs/promises";
import type { Socket } from "node:net";
import path from "node:path";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { TAR_END, tarHeader, tarPadding } from "../../src/io/tar-header.ts";
import { statusOf } from "./artifacts.ts";
import { CallError } from "./call-error.ts";
import { partName } from "./parts.ts";
import type { Storage } from "./storage.ts";
import { TarReader } from "./tar-reader.ts";
import { Incoming, send, type Transfers, write } from "./transfers.ts";

const ENTRIES = 100_000;
const NAME_BYTES = 3000;
const NAME_PARTS = 200;

type Params = Record<string, unknown>;

export async function tar(transfers: Transfers, storage: Storage, params: Params): Promise<object> {
  const root = storage.place(params);
  if (!fs.lstatSync(root.real).isDirectory()) throw new CallError("NOT_A_FOLDER", "the path is not a folder");
  const socket = await transfers.dial(params.transfer);
  let size = 0;
  let entries = 0;
  const say = async (data: Buffer) => {
    size += data.length;
    if (data.length) await write(socket, data);
  };
  try {
    for (const shown of below(root.real)) {
      if (++entries > ENTRIES)
        throw new CallError("LIMIT_EXCEEDED", `the folder has more than ${ENTRIES} entries`);
      if (params.own === true && !fits(shown))
        throw new CallError(
          "LIMIT_EXCEEDED",
          `a name has more than ${NAME_BYTES} bytes or ${NAME_PARTS} parts: ${shown.slice(0, 200)}`,
        );
      const real = `${root.real}/${shown}`;
      const status = statusOf(real);
      if (!status) continue;
      const facts = {
        name: Buffer.from(shown),
        mode: Number(status.mode & 0o7777n),
        mtimeS: Number(status.mtimeNs / 1_000_000_000n),
      };
      if (status.isDirectory()) await say(tarHeader({ ...facts, type: "directory", size: 0 }));
      if (!status.isFile()) continue;
      const file = await open(real, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
      try {
        const length = (await file.stat()).size;
        await say(tarHeader({ ...facts, type: "file", size: length }));
        if ((await send(socket, file, 0, length)) < length)
          throw new CallError(
            "TRANSFER_FAILED",
            `a file became shorter while it was read: ${shown}`.slice(0, 1000),
          );
        size += length;
        await say(tarPadding(length));
      } finally {
        await file.close();
      }
    }
    await say(TAR_END);
    socket.end();
    return { size, entries };
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Such a name could be unpacked again. */
const fits = (name: string) => Buffer.byteLength(name) <= NAME_BYTES && name.split("/").length <= NAME_PARTS;

function* below(root: string): Generator<string> {
  const waiting = [""];
  while (waiting.length) {
    const at = waiting.pop()!;
    const folders: string[] = [];
    for (const name of fs.readdirSync(at ? `${root}/${at}` : root).sort()) {
      const shown = at ? `${at}/${name}` : name;
      yield shown;
      if (statusOf(`${root}/${shown}`)?.isDirectory()) folders.push(shown);
    }
    waiting.push(...folders.reverse());
  }
}

export async function untar(transfers: Transfers, storage: Storage, params: Params): Promise<object> {
  const target = storage.place(params);
  if (target.readOnly) throw new CallError("PATH_NOT_PERMITTED", "this folder can only be read");
  fs.mkdirSync(target.real, { recursive: true });
  const staging = path.join(target.real, partName());
  fs.mkdirSync(staging, 0o700);
  let socket: Socket | undefined;
  try {
    const size = typeof params.size === "number" ? params.size : null;
    socket = await transfers.dial(params.transfer);
    const incoming = new Incoming(socket, size);
    const chunks = incoming.chunks();
    const entries = await unpack(params.gzip === true ? gunzipped(chunks) : chunks, staging, storage.room());
    for await (const _ of chunks);
    const result = await incoming.confirm();
    for (const [from, to] of [...moves(staging, target.real)]) fs.renameSync(from, to);
    return { ...result, entries };
  } finally {
    socket?.destroy();
    fs.rmSync(staging, { recursive: true, force: true });
  }
}

async function* gunzipped(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  pipeline(Readable.from(chunks), gunzip, () => {});
  try {
    for await (const chunk of gunzip) yield chunk;
  } catch (error) {
    if (error instanceof CallError) throw error;
    throw new CallError("ARCHIVE_INVALID", `not a gzipped archive: ${(error as Error).message}`);
  }
}

async function unpack(chunks: AsyncGenerator<Buffer>, staging: string, room: number | null): Promise<number> {
  const reader = new TarReader(chunks);
  const folders: { real: string; mode: number }[] = [];
  let entries = 0;
  let left = room ?? Number.POSITIVE_INFINITY;
  for (let entry = await reader.next(); entry; entry = await reader.next()) {
    if (++entries > ENTRIES)
      throw new CallError("ARCHIVE_INVALID", `the archive has more than ${ENTRIES} entries`);
    const parts = safeParts(entry.name);
    if (parts.length === 0) continue;
    const real = path.join(staging, ...parts);
    if (entry.type === "directory") {
      makeFolder(real, entry.name);
      folders.push({ real, mode: entry.mode });
      continue;
    }
    if (entry.type !== "file")
      throw bad(entry.name, "is neither file nor folder; a session in WebAssembly has no links");
    makeFolder(path.dirname(real), entry.name);
    if (statusOf(real)?.isDirectory()) throw bad(entry.name, "is a folder and a file");
    left -= entry.size;
    if (left < 0) throw new CallError("STORAGE_FULL", "the archive does not fit");
    fs.rmSync(real, { force: true });
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
    const file = await open(real, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    try {
      for await (const chunk of reader.body(entry)) await file.write(chunk);
      await file.chmod((entry.mode & 0o755) | 0o600);
      await file.utimes(entry.mtimeS, entry.mtimeS).catch(() => {});
    } finally {
      await file.close();
    }
  }
  // Last: a folder that may not be written to could not have been filled.
  for (const { real, mode } of folders.reverse()) fs.chmodSync(real, (mode & 0o777) | 0o700);
  return entries;
}

/** The components of an entry's name; none of them leads anywhere but down. */
function safeParts(name: string): string[] {
  if (name.startsWith("/") || name.includes("\0") || Buffer.byteLength(name) > NAME_BYTES)
    throw bad(name, "is absolute, too long or contains NUL");
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (
    parts.includes("..") ||
    parts.length > NAME_PARTS ||
    parts.some((part) => Buffer.byteLength(part) > 255)
  )
    throw bad(name, "leads out of the folder, is too deep, or has a name over 255 bytes");
  return parts;
}

function makeFolder(real: string, name: string): void {
  try {
    fs.mkdirSync(real, { recursive: true, mode: 0o755 });
  } catch {
    throw bad(name, "is a folder and something else");
  }
}

/** Looked at to the end before anything is moved: what is in the way must not leave a part of the archive behind. */
function* moves(staging: string, target: string): Generator<[string, string]> {
  const waiting: [string, string][] = [[staging, target]];
  while (waiting.length) {
    const [source, destination] = waiting.pop()!;
    for (const name of fs.readdirSync(source)) {
      const [fresh, old] = [path.join(source, name), path.join(destination, name)];
      const [now, before] = [statusOf(fresh)!, statusOf(old)];
      if (!before) yield [fresh, old];
      else if (now.isDirectory() !== before.isDirectory()) {
        const kind = now.isDirectory() ? "a folder" : "a file";
        throw new CallError("PATH_EXISTS", `where the archive has ${kind} there is something else: ${name}`);
      } else if (now.isDirectory()) waiting.push([fresh, old]);
      else yield [fresh, old];
    }
  }
}

function bad(name: string, reason: string): CallError {
  return new CallError("ARCHIVE_INVALID", `the entry '${name.slice(0, 200)}' ${reason}`);
}

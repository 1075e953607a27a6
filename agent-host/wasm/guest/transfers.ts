/**
 * Bulk bytes, each transfer on a connection of its own that the guest dials, in constant memory. Out: as many bytes as the
 * call's answer says. In: until the daemon half-closes; one that is gone altogether has closed both ways.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import { open } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import { type Artifacts, kindOf, markOf, named, statusOf } from "./artifacts.ts";
import { CallError } from "./call-error.ts";
import { mustBeFile } from "./files.ts";
import { partName } from "./parts.ts";
import type { Storage } from "./storage.ts";

const CHUNK = 256 * 1024;

type Params = Record<string, unknown>;
type Answer = (result: object) => void;

export class Transfers {
  readonly #socket: string;
  readonly #token: () => string;
  readonly #storage: Storage;

  constructor(socket: string, token: () => string, storage: Storage) {
    this.#socket = socket;
    this.#token = token;
    this.#storage = storage;
  }

  async dial(transfer: unknown): Promise<net.Socket> {
    const socket = net.createConnection({ path: this.#socket, allowHalfOpen: true });
    try {
      await once(socket, "connect");
    } catch {
      throw new CallError("TRANSFER_FAILED", "the daemon does not take the connection");
    }
    socket.on("error", () => {});
    socket.write(
      `${JSON.stringify({ type: "transfer", token: this.#token(), transfer: String(transfer) })}\n`,
    );
    return socket;
  }

  async read(params: Params, answer: Answer): Promise<object> {
    const place = this.#storage.place(params);
    const found = fs.lstatSync(place.real, { bigint: true });
    const facts = {
      ...{ size: Number(found.size), offset: 0, length: 0 },
      ...{ mtime_ns: String(found.mtimeNs), mode: Number(found.mode & 0o7777n) },
    };
    if (found.isDirectory()) return { ...facts, size: 0, directory: true };
    mustBeFile(place);
    const { offset, length } = windowOf(params, facts.size);
    if (length === null) return { ...facts, unsatisfiable: true };
    const file = await open(place.real, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW);
    try {
      const socket = await this.dial(params.transfer);
      answer({ ...facts, offset, length });
      await send(socket, file, offset, length);
      socket.end();
    } finally {
      await file.close();
    }
    return {};
  }

  async write(params: Params): Promise<object> {
    const place = this.#storage.placeToChange(params);
    const folder = path.dirname(place.real);
    const size = typeof params.size === "number" ? params.size : null;
    mustMatch(place.real, params.if_match);
    if (params.mkdirs === true) fs.mkdirSync(folder, { recursive: true });
    const mode = modeFor(place.real, params.mode);
    this.#storage.mustHaveRoom(folder, size ?? 0);
    const part = path.join(folder, partName());
    const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = fs.constants;
    const file = await open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600);
    let socket: net.Socket | undefined;
    try {
      socket = await this.dial(params.transfer);
      const incoming = new Incoming(socket, size);
      const room = this.#storage.room();
      for await (const chunk of incoming.chunks()) {
        if (room !== null && incoming.received > room)
          throw new CallError("STORAGE_FULL", "the storage is full");
        await file.write(chunk);
      }
      const result = await incoming.confirm();
      await file.chmod(mode);
      const { mtimeNs } = await file.stat({ bigint: true });
      // From here on nobody else has a turn.
      mustMatch(place.real, params.if_match);
      fs.renameSync(part, place.real);
      return { ...result, mtime_ns: String(mtimeNs) };
    } catch (error) {
      fs.rmSync(part, { force: true });
      throw error;
    } finally {
      // Whoever still sends must hear that nobody reads.
      socket?.destroy();
      await file.close();
    }
  }

  /** For each entry a line, `{size}` or `{skip}`; then that many bytes; then `+`, or `-` when it changed meanwhile. */
  async readArtifacts(
    artifacts: Artifacts,
    busy: () => Set<string>,
    params: Params,
    answer: Answer,
  ): Promise<object> {
    const entries = named(params.entries);
    const socket = await this.dial(params.transfer);
    answer({});
    const written = busy();
    for (const { shown, mark } of entries) {
      const real = artifacts.fileOf(shown);
      const status = statusOf(real);
      const skip = !status
        ? "cannot be read: it is gone"
        : kindOf(status) !== "file"
          ? "cannot be read: not a file any more"
          : markOf(status) !== mark
            ? "changed since the execution ended"
            : written.has(`${status.dev}:${status.ino}`)
              ? "still being written"
              : null;
      if (skip || !status) {
        await write(socket, Buffer.from(`${JSON.stringify({ skip })}\n`));
        continue;
      }
      const file = await open(real, fs.constants.O_RDONLY | fs.constants.O_NOFOLLOW).catch(() => null);
      if (!file) {
        await write(socket, Buffer.from(`${JSON.stringify({ skip: "cannot be read" })}\n`));
        continue;
      }
      try {
        const size = Number(status.size);
        await write(socket, Buffer.from(`${JSON.stringify({ size })}\n`));
        const sent = await send(socket, file, 0, size);
        // The daemon counts on the length that it was told.
        for (let left = size - sent; left > 0; left -= CHUNK)
          await write(socket, Buffer.alloc(Math.min(left, CHUNK)));
        const now = await file.stat({ bigint: true });
        await write(socket, Buffer.from(sent === size && markOf(now) === mark ? "+" : "-"));
      } finally {
        await file.close();
      }
    }
    socket.end();
    return {};
  }
}

/** What the daemon sends: read it to its end, then ask whether that was the end or a cut. */
export class Incoming {
  readonly #socket: net.Socket;
  readonly #size: number | null;
  readonly #hash = createHash("sha256");
  received = 0;

  constructor(socket: net.Socket, size: number | null) {
    this.#socket = socket;
    this.#size = size;
  }

  async *chunks(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#socket.iterator({ destroyOnReturn: false })) {
        this.#hash.update(chunk);
        this.received += chunk.length;
        yield chunk;
      }
    } catch (error) {
      if (error instanceof CallError) throw error;
      throw new CallError("TRANSFER_FAILED", "the connection was cut");
    }
  }

  /** Only a half-closed peer can still be written to. */
  async confirm(): Promise<{ size: number; sha256: string }> {
    const cut = await new Promise<boolean>((resolve) => {
      if (this.#socket.destroyed) return resolve(true);
      this.#socket.write("\n", (error) => resolve(error !== undefined && error !== null));
    });
    this.#socket.destroy();
    if (cut) throw new CallError("TRANSFER_FAILED", "the connection was cut");
    if (this.#size !== null && this.received !== this.#size)
      throw new CallError("TRANSFER_FAILED", `${this.received} of ${this.#size} bytes came`);
    return { size: this.received, sha256: this.#hash.digest("hex") };
  }
}

type OpenFile = Awaited<ReturnType<typeof open>>;

/** As much as there is. */
export async function send(
  socket: net.Socket,
  file: OpenFile,
  offset: number,
  length: number,
): Promise<number> {
  let sent = 0;
  while (sent < length) {
    const { bytesRead, buffer } = await file.read({
      buffer: Buffer.allocUnsafe(Math.min(CHUNK, length - sent)),
      position: offset + sent,
    });
    if (bytesRead === 0) break;
    await write(socket, buffer.subarray(0, bytesRead));
    sent += bytesRead;
  }
  return sent;
}

export async function write(socket: net.Socket, data: Buffer): Promise<void> {
  if (socket.destroyed) throw new CallError("TRANSFER_FAILED", "the connection was cut");
  if (socket.write(data)) return;
  await Promise.race([once(socket, "drain"), once(socket, "close")]);
}

/** `offset` and `length`, or `last`: that many bytes from the end. No length: outside of the file. */
function windowOf(params: Params, size: number): { offset: number; length: number | null } {
  if (params.last !== undefined && params.last !== null) {
    const length = Math.min(Number(params.last), size);
    return { offset: size - length, length: length > 0 ? length : null };
  }
  const offset = Number(params.offset ?? 0);
  const length = params.length === undefined || params.length === null ? null : Number(params.length);
  if (offset < 0 || (length !== null && length < 0))
    throw new CallError("VALIDATION_FAILED", "offset and length must not be negative");
  if (offset > size || (offset === size && params.ranged === true)) return { offset, length: null };
  return { offset, length: length === null ? size - offset : Math.min(length, size - offset) };
}

/** `expected`: time and size that the file must have, or true for any file at all. */
function mustMatch(target: string, expected: unknown): void {
  if (expected === undefined || expected === null) return;
  const status = statusOf(target);
  if (!status) throw new CallError("ETAG_MISMATCH", "there is no such file");
  const found = JSON.stringify([String(status.mtimeNs), Number(status.size)]);
  if (expected !== true && JSON.stringify(expected) !== found)
    throw new CallError("ETAG_MISMATCH", "the file has changed");
}

function modeFor(target: string, wanted: unknown): number {
  const status = statusOf(target);
  const given = typeof wanted === "number" ? wanted & 0o777 : null;
  if (!status) return given ?? 0o644;
  if (!status.isFile()) throw new CallError("NOT_A_FILE", `the path is a ${kindOf(status)}`);
  return given ?? Number(status.mode & 0o777n);
}

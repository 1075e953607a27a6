/**
 * Bytes out of and into a guest, streamed with backpressure. The guest dials one connection for each transfer; see
 * `docs/protocol.md`, Transfers.
 *
 * @module
 */
import { once } from "node:events";
import { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { Readable, Transform } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { SandbarError } from "@sandbar/shared";
import { z } from "zod";
import { pump } from "../io/raw-body.ts";
import { readAnswer } from "./guest-calls.ts";
import type { TransferSockets } from "./transfer-sockets.ts";

/** Neither end moved a byte for so long: whoever reads or writes has gone, or might as well have. */
const STALL_MS = 120_000;
/** A read is answered when its turn comes. */
const READ_ANSWER_MS = 60_000;
/** Of a guest that has closed the connection, for the reason. */
const REASON_MS = 1000;

const bytes = z.number().int().nonnegative();

export const ReadInfoSchema = z.object({
  size: bytes,
  offset: bytes,
  length: bytes,
  mtime_ns: z.string().max(32),
  mode: bytes,
  /** The asked range lies outside of the file: nothing is sent. */
  unsatisfiable: z.boolean().default(false),
  /** It is a folder: nothing is sent, and only the time and the mode are said. */
  directory: z.boolean().default(false),
});
export type ReadInfo = z.infer<typeof ReadInfoSchema>;

const WrittenSchema = z.object({ size: bytes, sha256: z.string().length(64), entries: bytes.optional() });
export type Written = z.infer<typeof WrittenSchema>;

const TarredSchema = z.object({ size: bytes, entries: bytes });

/** What a session must have for its files to be reached. */
export interface GuestFiles {
  readonly transfers: TransferSockets;
  call(method: string, params: Record<string, unknown>, timeoutMs?: number): Promise<unknown>;
}

/** `path` as text, or `path_b64` for a name that is not UTF-8. Relative ones start at /session. */
export type GuestPath = { path: string } | { path_b64: string };

export type ReadParams = GuestPath & {
  offset?: number;
  length?: number;
  /** This many bytes from the end. */
  last?: number;
  /** An offset at the very end is outside, as HTTP ranges have it. */
  ranged?: boolean;
  /** Without it a symlink is refused. */
  follow?: boolean;
  /** It does not wait for other transfers. */
  artifact?: boolean;
};

export type WriteParams = GuestPath & { size?: number; mkdirs?: boolean; mode?: number };

/** A regular file. The stream fails if fewer bytes come than `info.length` says; destroying it frees the guest. */
export async function readFromGuest(
  guest: GuestFiles,
  params: ReadParams,
): Promise<{ info: ReadInfo; stream: Readable }> {
  const { info, stream } = await openInGuest(guest, params);
  if (!stream) throw new SandbarError("NOT_A_FILE", "the path is a directory");
  return { info, stream };
}

/** So many bytes of a regular file and no fewer: whoever takes them was told, and would wait for the rest. */
export async function pieceFromGuest(
  guest: GuestFiles,
  params: ReadParams & { length: number },
): Promise<Readable> {
  const { info, stream } = await readFromGuest(guest, params);
  if (info.length === params.length) return stream;
  stream.destroy();
  throw new SandbarError("TRANSFER_FAILED", "the file became shorter");
}

/** A regular file, or a folder, which has no stream. */
export async function openInGuest(
  guest: GuestFiles,
  params: ReadParams,
): Promise<{ info: ReadInfo; stream: Readable | null }> {
  const expected = guest.transfers.expect();
  try {
    const info = readAnswer(
      ReadInfoSchema,
      await guest.call("fs.read", { ...params, transfer: expected.id }, READ_ANSWER_MS),
    );
    if (info.directory || info.unsatisfiable) expected.cancel();
    if (info.directory) return { info, stream: null };
    if (info.unsatisfiable) return { info, stream: Readable.from([]) };
    const socket = await expected.socket;
    return { info, stream: outOf(socket, async (count) => count === info.length, info.length) };
  } catch (error) {
    expected.cancel();
    throw error;
  }
}

/** A folder as tar; its length is known only at the end. */
export async function tarFromGuest(
  guest: GuestFiles,
  params: GuestPath & { follow?: boolean },
): Promise<Readable> {
  const expected = guest.transfers.expect();
  try {
    const answer = guest.call("fs.tar", { ...params, transfer: expected.id }, Number.POSITIVE_INFINITY);
    const socket = await dialled(expected.socket, answer);
    const stream = outOf(socket, async (count) => readAnswer(TarredSchema, await answer).size === count);
    // What fails before its first byte can still be refused with the reason; later it can only be cut.
    await once(stream, "readable");
    return stream;
  } catch (error) {
    expected.cancel();
    throw error;
  }
}

/** Lines of JSON about changes below a folder, until the stream is destroyed. */
export async function watchGuest(
  guest: GuestFiles,
  params: GuestPath & { recursive?: boolean },
): Promise<Readable> {
  const expected = guest.transfers.expect();
  try {
    await guest.call("fs.watch", { ...params, transfer: expected.id });
    const socket = await expected.socket;
    socket.setTimeout(0);
    return socket;
  } catch (error) {
    expected.cancel();
    throw error;
  }
}

/** A file, complete or not at all: it appears under its name when everything has come. */
export function writeToGuest(
  guest: GuestFiles,
  params: WriteParams,
  source: Readable,
  stallMs = STALL_MS,
): Promise<Written> {
  return into(guest, "fs.write", params, source, stallMs);
}

/** A tar archive, unpacked below a folder; complete or not at all. */
export function untarToGuest(
  guest: GuestFiles,
  params: GuestPath & { size?: number; gzip?: boolean },
  source: Readable,
): Promise<Written> {
  return into(guest, "fs.untar", params, source);
}

async function into(
  guest: GuestFiles,
  method: string,
  params: Record<string, unknown>,
  source: Readable,
  stallMs = STALL_MS,
): Promise<Written> {
  let answer: Promise<unknown> | null = null;
  let expected: ReturnType<TransferSockets["expect"]> | null = null;
  try {
    expected = guest.transfers.expect();
    answer = guest.call(method, { ...params, transfer: expected.id }, Number.POSITIVE_INFINITY);
    const socket = await dialled(expected.socket, answer);
    socket.setTimeout(stallMs, () => {
      // Whoever sends has stopped, unless it is the guest that does not take what came.
      const code = socket.writableLength === 0 ? "REQUEST_TIMEOUT" : "TRANSFER_FAILED";
      socket.destroy(new SandbarError(code, `no byte moved for ${stallMs / 1000} s`));
    });
    // What the guest says here only proves that it could say it.
    socket.resume();
    // The end of the pipeline half-closes; an error closes both ways, which is how the guest tells them apart.
    await (source instanceof IncomingMessage ? pump(source, socket) : pipeline(source, socket));
    return readAnswer(WrittenSchema, await answer);
  } catch (error) {
    expected?.cancel();
    source.destroy();
    if (error instanceof SandbarError || !answer) throw error;
    const failed = answer.then(
      () => error,
      (reason: unknown) => reason,
    );
    throw await Promise.race([failed, sleep(REASON_MS, error, { ref: false })]);
  }
}

/** The connection, unless the guest refuses first. */
export async function dialled(socket: Promise<Socket>, answer: Promise<unknown>): Promise<Socket> {
  answer.catch(() => {});
  return Promise.race([socket, answer.then(() => socket)]);
}

function stallsAfter(socket: Socket): void {
  socket.setTimeout(STALL_MS, () =>
    socket.destroy(new SandbarError("TRANSFER_FAILED", `no byte moved for ${STALL_MS / 1000} s`)),
  );
}

/** The guest's bytes, never more than `most`: the rest would be read as the next request. At their end `complete` says whether that was all. */
function outOf(
  socket: Socket,
  complete: (count: number) => Promise<boolean>,
  most = Number.POSITIVE_INFINITY,
): Readable {
  stallsAfter(socket);
  let count = 0;
  const stream = new Transform({
    readableHighWaterMark: 1024 * 1024,
    transform(chunk: Buffer, _encoding, done) {
      count += chunk.length;
      if (count > most) done(new SandbarError("TRANSFER_FAILED", "the file became longer"));
      else done(null, chunk);
    },
    flush(done) {
      complete(count).then(
        (whole) => done(whole ? null : new SandbarError("TRANSFER_FAILED", "the file became shorter")),
        done,
      );
    },
  });
  // The reader of the stream sees the error; nobody waits for the pipeline itself.
  pipeline(socket, stream).catch(() => {});
  return stream;
}

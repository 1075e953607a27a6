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
import {
  type GuestAnswer,
  type GuestCall,
  type GuestRead,
  SandbarError,
  type WrittenFile,
} from "@sandbar/shared";
import { pump } from "../io/raw-body.ts";
import { dialled, endStalled, type TransferSockets } from "./transfer-sockets.ts";

const STALL_MS = 120_000;
/** A read is answered when its turn comes. */
const READ_ANSWER_MS = 60_000;
/** Of a guest that has closed the connection, for the reason. */
const REASON_MS = 1000;

/** What a session must have for its files to be reached. */
export interface GuestFiles {
  readonly transfers: TransferSockets;
  readonly call: GuestCall;
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

export type WriteParams = GuestPath & {
  size?: number;
  mkdirs?: boolean;
  mode?: number;
  /** Time and size that the file must have when it is replaced; true for any file. */
  if_match?: readonly [mtime_ns: string, size: number] | true;
};

/** A regular file. The stream fails if fewer bytes come than `info.length` says; destroying it frees the guest. */
export async function readFromGuest(
  guest: GuestFiles,
  params: ReadParams,
): Promise<{ info: GuestRead; stream: Readable }> {
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
export function openInGuest(
  guest: GuestFiles,
  params: ReadParams,
): Promise<{ info: GuestRead; stream: Readable | null }> {
  return guest.transfers.expecting(async ({ id, socket }) => {
    const info = await guest.call("fs.read", { ...params, transfer: id }, READ_ANSWER_MS);
    if (info.directory) return { info, stream: null };
    if (info.unsatisfiable) return { info, stream: Readable.from([]) };
    return { info, stream: outOf(await socket, async (count) => count === info.length, info.length) };
  });
}

/** A folder as tar; its length is known only at the end. With `own`, only one that could be unpacked again where it was. */
export function tarFromGuest(
  guest: GuestFiles,
  params: GuestPath & { follow?: boolean; own?: boolean },
): Promise<Readable> {
  return guest.transfers.expecting(async ({ id, socket }) => {
    const answer = guest.call("fs.tar", { ...params, transfer: id }, Number.POSITIVE_INFINITY);
    const stream = outOf(await dialled(socket, answer), async (count) => (await answer).size === count);
    // What fails before its first byte can still be refused with the reason; later it can only be cut.
    await once(stream, "readable");
    return stream;
  });
}

/** Lines of JSON about changes below a folder, until the stream is destroyed. */
export function watchGuest(
  guest: GuestFiles,
  params: GuestPath & { recursive?: boolean },
): Promise<Readable> {
  return guest.transfers.expecting(async ({ id, socket }) => {
    await guest.call("fs.watch", { ...params, transfer: id });
    return (await socket).setTimeout(0);
  });
}

/** A file, complete or not at all: it appears under its name when everything has come. */
export function writeToGuest(
  guest: GuestFiles,
  params: WriteParams,
  source: Readable,
  stallMs = STALL_MS,
): Promise<GuestAnswer<"fs.write">> {
  return into(guest, "fs.write", params, source, stallMs);
}

/** A tar archive, unpacked below a folder; complete or not at all. */
export function untarToGuest(
  guest: GuestFiles,
  params: GuestPath & { size?: number; gzip?: boolean; own?: boolean },
  source: Readable,
): Promise<WrittenFile> {
  return into(guest, "fs.untar", params, source);
}

/** What the guest reads to its end before it answers. */
export async function into<M extends "fs.write" | "fs.untar" | "state.load">(
  guest: GuestFiles,
  method: M,
  params: Record<string, unknown>,
  source: Readable,
  stallMs = STALL_MS,
): Promise<GuestAnswer<M>> {
  let answer: Promise<GuestAnswer<M>> | null = null;
  try {
    return await guest.transfers.expecting(async ({ id, socket: dialling }) => {
      answer = guest.call(method, { ...params, transfer: id }, Number.POSITIVE_INFINITY);
      const socket = await dialled(dialling, answer);
      // Whoever sends has stopped, unless it is the guest that does not take what came.
      endStalled(socket, stallMs, () =>
        socket.writableLength === 0 ? "REQUEST_TIMEOUT" : "TRANSFER_FAILED",
      );
      // What the guest says here only proves that it could say it.
      socket.resume();
      // The end of the pipeline half-closes; an error closes both ways, which is how the guest tells them apart.
      await (source instanceof IncomingMessage ? pump(source, socket) : pipeline(source, socket));
      return answer;
    });
  } catch (error) {
    source.destroy();
    if (error instanceof SandbarError || !answer) throw error;
    throw await Promise.race([reasonOf(answer, error), sleep(REASON_MS, error, { ref: false })]);
  }
}

/** Why the guest says that it failed, which is more than the connection could tell. */
function reasonOf(answer: Promise<unknown>, error: unknown): Promise<unknown> {
  return answer.then(
    () => error,
    (reason: unknown) => reason,
  );
}

/** The guest's bytes, never more than `most`: the rest would be read as the next request. At their end `complete` says whether that was all. */
export function outOf(
  socket: Socket,
  complete: (count: number) => Promise<boolean>,
  most = Number.POSITIVE_INFINITY,
): Readable {
  endStalled(socket, STALL_MS);
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

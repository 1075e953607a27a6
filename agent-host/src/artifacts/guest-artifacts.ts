/** @module Artifacts in a running sandbox: its guest finds them, sends many in one stream, and removes them. */
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { addAbortSignal } from "node:stream";
import { type ArtifactEntry, SMALL_BLOB_BYTES } from "@sandbar/shared";
import { z } from "zod";
import { type GuestFiles, pieceFromGuest } from "../guest/guest-transfers.ts";
import { dialled, endStalled, type TransferSockets } from "../guest/transfer-sockets.ts";
import { ByteSource } from "../io/byte-source.ts";
import { type ArtifactFolder, type Found, ingestFile, type Settled } from "./artifact-folder.ts";
import type { PushFile } from "./push-file.ts";

const ANSWER_MS = 60_000;
const STALL_MS = 60_000;
const HEADER_LINE_BYTES = 4096;

const HeaderSchema = z.union([
  z.object({ size: z.number().int().nonnegative() }),
  z.object({ skip: z.string().max(1000) }),
]);

/** What a session must have for its artifacts to be reached. They have places of their own: no download keeps them waiting. */
export interface ArtifactGuest extends Pick<GuestFiles, "call"> {
  readonly artifactTransfers: TransferSockets;
}

export class GuestArtifacts implements ArtifactFolder {
  readonly #guest: GuestFiles;

  constructor(guest: ArtifactGuest) {
    this.#guest = {
      get transfers() {
        return guest.artifactTransfers;
      },
      call: (...question) => guest.call(...question),
    };
  }

  async scan(): Promise<ArtifactEntry[]> {
    return (await this.#guest.call("artifacts.scan", {})).artifacts;
  }

  async read(
    group: readonly Found[],
    skip: (found: Found, reason: string) => void,
    signal: AbortSignal,
  ): Promise<Map<PushFile, Found>> {
    const read = new Map<PushFile, Found>();
    const stream = addAbortSignal(signal, await openBundle(this.#guest, group, signal));
    try {
      const source = new ByteSource(stream);
      for (const found of group) {
        const { entry } = found;
        const header = HeaderSchema.parse(JSON.parse(await source.line(HEADER_LINE_BYTES)));
        if ("skip" in header) {
          skip(found, header.skip);
          continue;
        }
        if (header.size !== entry.size) throw new Error("the guest sent another file than asked for");
        const hash = createHash("sha256");
        const held: Buffer[] = [];
        for await (const piece of source.pieces(entry.size)) {
          hash.update(piece);
          if (entry.size <= SMALL_BLOB_BYTES) held.push(piece);
        }
        if ((await source.exactly(1)).toString() !== "+") {
          skip(found, "it changed while it was read: left for the next execution");
          continue;
        }
        const file: PushFile = {
          ...ingestFile(found, hash.digest("hex")),
          content: entry.size <= SMALL_BLOB_BYTES ? held : again(this.#guest, entry),
        };
        read.set(file, found);
      }
    } finally {
      stream.destroy();
    }
    return read;
  }

  /** The guest does it before anything that it is told later. */
  async settle(entries: Settled): Promise<void> {
    await this.#guest.call("artifacts.settle", { ...entries });
  }
}

/** Whatever changes before it is read again, the hash tells. */
function again(guest: GuestFiles, entry: ArtifactEntry) {
  const path = Buffer.concat([Buffer.from("artifacts/"), Buffer.from(entry.path_b64, "base64")]);
  return (offset: number, length: number) =>
    pieceFromGuest(guest, { path_b64: path.toString("base64"), offset, length, artifact: true });
}

async function openBundle(guest: GuestFiles, group: readonly Found[], signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted();
  return guest.transfers.expecting(async ({ id, socket: dialling, cancel }) => {
    signal.addEventListener("abort", cancel, { once: true });
    const entries = group.map(({ entry }) => entry);
    const answer = guest.call("artifacts.read", { entries, transfer: id }, ANSWER_MS);
    try {
      const socket = await dialled(dialling, answer);
      endStalled(socket, STALL_MS);
      return socket;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  });
}

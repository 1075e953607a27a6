/** @module Reads artifacts out of a guest: many in one stream, each whole or not at all, hashed on the way. */
import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import { type ArtifactEntry, mediaTypeOf, SandbarError, SMALL_BLOB_BYTES } from "@sandbar/shared";
import { z } from "zod";
import { artifactVersion } from "./artifact-name.ts";
import type { PushFile } from "./artifact-push.ts";
import { ByteSource } from "./byte-source.ts";
import { type GuestFiles, readFromGuest } from "./guest-transfers.ts";

const ANSWER_MS = 60_000;
const STALL_MS = 60_000;
const HEADER_LINE_BYTES = 4096;

const HeaderSchema = z.union([
  z.object({ size: z.number().int().nonnegative() }),
  z.object({ skip: z.string().max(1000) }),
]);

export interface Found {
  readonly entry: ArtifactEntry;
  readonly name: string;
}

/** Small files are held in memory, large ones can be read again. */
export async function readGroup(
  session: GuestFiles,
  group: readonly Found[],
  skip: (found: Found, reason: string) => void,
): Promise<Map<PushFile, Found>> {
  const read = new Map<PushFile, Found>();
  const stream = await openBundle(session, group);
  try {
    const source = new ByteSource(stream);
    for (const found of group) {
      const { entry, name } = found;
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
        name,
        size: entry.size,
        sha256: hash.digest("hex"),
        mime: mediaTypeOf(name),
        version: artifactVersion(entry),
        content: entry.size <= SMALL_BLOB_BYTES ? Buffer.concat(held) : again(session, entry),
      };
      read.set(file, found);
    }
  } finally {
    stream.destroy();
  }
  return read;
}

/** Whatever changes before it is read again, the hash tells. */
function again(session: GuestFiles, entry: ArtifactEntry) {
  const path = Buffer.concat([Buffer.from("artifacts/"), Buffer.from(entry.path_b64, "base64")]);
  return async (offset: number, length: number) =>
    (await readFromGuest(session, { path_b64: path.toString("base64"), offset, length })).stream;
}

async function openBundle(session: GuestFiles, group: readonly Found[]): Promise<Socket> {
  const expected = session.transfers.expect();
  try {
    const entries = group.map(({ entry }) => entry);
    await session.call("artifacts.read", { entries, transfer: expected.id }, ANSWER_MS);
    const socket = await expected.socket;
    socket.setTimeout(STALL_MS, () =>
      socket.destroy(new SandbarError("TRANSFER_FAILED", `no byte moved for ${STALL_MS / 1000} s`)),
    );
    return socket;
  } catch (error) {
    expected.cancel();
    throw error;
  }
}

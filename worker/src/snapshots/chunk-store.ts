/**
 * Chunks of snapshots in R2, an object for each, as content of their tenant like that of artifacts. Whatever a host says
 * of them is checked here: their hashes when they come, what a manifest names when it does.
 *
 * @module
 */
import {
  type Chunk,
  chunksOf,
  type Manifest,
  ManifestSchema,
  readJson,
  reportOf,
  SandbarError,
  SNAPSHOT_CHUNK_LIMIT,
} from "@sandbar/shared";
import {
  addBlobRows,
  forget,
  fromStore,
  type NewBlob,
  newObjectKey,
  openBlob,
  verify,
} from "../artifacts/blob-store.ts";
import type { BlobRow } from "../db/artifact-tables.ts";
import type { SnapshotSummary } from "../db/snapshot-tables.ts";
import { chunkBlobs, findSnapshot, finishSnapshot, keepChunks, type Writing } from "../db/snapshots.ts";
import type { Env } from "../env.ts";

const NOT_WRITTEN = "Nobody is writing this snapshot; it was given up or finished";
/** Objects that are asked for before their turn. */
const AHEAD = 4;

/** Which of the chunks must be brought; the others are kept for the snapshot from now on. */
export async function missingChunks(env: Env, writing: Writing, chunks: readonly Chunk[]): Promise<string[]> {
  const kept = await keepChunks(env.DB, writing, chunks);
  if (!kept) throw new SandbarError("NOT_FOUND", NOT_WRITTEN);
  return [...new Set(chunks.map(([sha256]) => sha256))].filter((sha256) => !kept.has(sha256));
}

export async function storeChunks(env: Env, writing: Writing, given: readonly NewBlob[]): Promise<void> {
  await Promise.all(given.map(verify));
  const rows = await Promise.all(
    given.map(async ({ sha256, bytes }) => {
      const object_key = newObjectKey(writing.tenant, sha256);
      await fromStore(env.BLOBS.put(object_key, bytes));
      return { tenant: writing.tenant, sha256, size: bytes.byteLength, object_key, object_offset: 0 };
    }),
  );
  const chunks = given.map(({ sha256, bytes }): Chunk => [sha256, bytes.byteLength]);
  const kept = await keepChunks(env.DB, writing, chunks, [addBlobRows(env.DB, rows)]);
  if (!kept) throw new SandbarError("NOT_FOUND", NOT_WRITTEN);
  if (chunks.some(([sha256]) => !kept.has(sha256)))
    throw new SandbarError("QUOTA_EXCEEDED", "The tenant's stored bytes are used up");
}

/** With its manifest the snapshot is complete; every chunk that it names is there and stays. */
export async function storeManifest(env: Env, writing: Writing, { sha256, bytes }: NewBlob): Promise<void> {
  // Asked again, because the answer was lost.
  if ((await findSnapshot(env.DB, writing.tenant, writing.snapshot))?.digest === sha256) return;
  const manifest = readManifest(bytes);
  const chunks = chunksOf(manifest);
  if (chunks.length > SNAPSHOT_CHUNK_LIMIT)
    throw new SandbarError("LIMIT_EXCEEDED", `A snapshot may have ${SNAPSHOT_CHUNK_LIMIT} chunks`);
  const missing = await missingChunks(env, writing, [...chunks, [sha256, bytes.length]]);
  if (missing.some((one) => one !== sha256))
    throw new SandbarError("VALIDATION_FAILED", "The manifest names chunks that were not brought");
  await verify({ sha256, bytes });
  // Of a session in which nothing has changed it is there already.
  if (missing.length > 0) await storeChunks(env, writing, [{ sha256, bytes }]);
  if (!(await finishSnapshot(env.DB, writing, sha256, summaryOf(manifest))))
    throw new SandbarError("NOT_FOUND", NOT_WRITTEN);
}

export function readManifest(bytes: Uint8Array): Manifest {
  const parsed = ManifestSchema.safeParse(readJson(new TextDecoder().decode(bytes)));
  if (!parsed.success) throw new SandbarError("SNAPSHOT_DAMAGED", "The manifest cannot be read");
  return parsed.data;
}

function summaryOf({ session, contexts, files }: Manifest): SnapshotSummary {
  const { runtime, engine, image, image_used } = session;
  return {
    runtime,
    engine,
    image: image ?? image_used,
    size: contexts.reduce((sum, { state }) => sum + state.size, files.size),
    files_bytes: files.size,
    contexts: contexts.map(({ name, language, format, state, variables, more }) => ({
      name,
      language,
      format,
      size: state.size,
      ...reportOf(variables, more),
    })),
  };
}

/** The manifest of a complete snapshot, as it was stored. */
export async function loadManifest(
  env: Env,
  tenant: string,
  snapshot: { readonly id: string; readonly digest: string },
): Promise<Uint8Array> {
  const { id, digest } = snapshot;
  const stream = await readChunks(env, tenant, id, [digest]);
  try {
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
    await verify({ sha256: digest, bytes });
    return bytes;
  } catch (error) {
    if (!(await forgetDamaged(env, tenant, id, digest))) throw error;
    throw new SandbarError("SNAPSHOT_DAMAGED", "The manifest is not the one that was stored");
  }
}

/** Bytes of chunks that the snapshot has, one after another. */
export async function readChunks(
  env: Env,
  tenant: string,
  snapshot: string,
  chunks: readonly string[],
): Promise<ReadableStream<Uint8Array>> {
  const blobs = await findChunks(env, tenant, snapshot, chunks);
  const length = blobs.reduce((sum, { size }) => sum + size, 0);
  const { readable, writable } = new FixedLengthStream(length);
  void closing(writable, () => sendChunks(env, blobs, writable));
  return readable;
}

/** A reader that has gone, or bytes that are missing, cut the stream, which is all that can be said by then. */
export async function closing(writable: WritableStream, send: () => Promise<void>): Promise<void> {
  try {
    await send();
    await writable.close();
  } catch (error) {
    await writable.abort(error).catch(() => {});
  }
}

export async function findChunks(
  env: Env,
  tenant: string,
  snapshot: string,
  chunks: readonly string[],
): Promise<BlobRow[]> {
  const found = await chunkBlobs(env.DB, tenant, snapshot, chunks);
  return chunks.map((sha256) => {
    const blob = found.get(sha256);
    if (!blob) throw damaged(sha256);
    return blob;
  });
}

/** The stream stays open. */
export async function sendChunks(
  env: Env,
  blobs: readonly BlobRow[],
  writable: WritableStream,
  signal?: AbortSignal,
): Promise<void> {
  const opened: Promise<ReadableStream<Uint8Array> | null>[] = [];
  const openUpTo = (end: number) => {
    while (opened.length < Math.min(end, blobs.length)) {
      const opening = openBlob(env, blobs[opened.length]!);
      opening.catch(() => {});
      opened.push(opening);
    }
  };
  try {
    for (let i = 0; i < blobs.length; i++) {
      openUpTo(i + AHEAD);
      const stream = await opened[i]!;
      if (!stream) throw damaged(blobs[i]!.sha256);
      await stream.pipeTo(writable, { preventClose: true, preventAbort: true, ...(signal && { signal }) });
    }
  } catch (error) {
    await Promise.all(
      opened.map(async (stream) => (await stream.catch(() => null))?.cancel().catch(() => {})),
    );
    throw error;
  }
}

const damaged = (sha256: string) =>
  new SandbarError("SNAPSHOT_DAMAGED", `The store no longer has the chunk ${sha256}`);

/**
 * Somebody has met other bytes than these. If that is so they are forgotten, and the next snapshot that has them brings
 * them back. False when they are as they should be.
 */
export async function forgetDamaged(
  env: Env,
  tenant: string,
  snapshot: string,
  sha256: string,
): Promise<boolean> {
  const blob = (await chunkBlobs(env.DB, tenant, snapshot, [sha256])).get(sha256);
  if (!blob) return true;
  const object = await fromStore(env.BLOBS.get(blob.object_key));
  const range = blob.object_offset;
  const bytes = object && new Uint8Array(await object.arrayBuffer()).subarray(range, range + blob.size);
  const whole =
    bytes !== null &&
    (await verify({ sha256, bytes }).then(
      () => true,
      () => false,
    ));
  if (!whole) await forget(env, blob);
  return !whole;
}

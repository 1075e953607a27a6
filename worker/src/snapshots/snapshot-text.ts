/** @module A snapshot within a request or an answer: its file in base64, taken back only if this deployment has sealed it. */
import {
  CHUNK_BATCH,
  CHUNK_BATCH_BYTES,
  type Chunk,
  chunksOf,
  DigestSchema,
  MANIFEST_LIMIT_BYTES,
  newId,
  readJson,
  SandbarError,
  SNAPSHOT_FORMAT,
  SNAPSHOT_TEXT_CHARS,
} from "@sandbar/shared";
import { z } from "zod";
import { deleteSnapshot, type NewBlob, verify } from "../artifacts/blob-store.ts";
import { artifactLimits } from "../artifacts/settings.ts";
import { addSnapshot, type ReadySnapshot, type Writing } from "../db/snapshots.ts";
import type { Env } from "../env.ts";
import { unseal } from "../sealed.ts";
import { readManifest, storeChunks, storeManifest } from "./chunk-store.ts";
import { openSnapshotFile } from "./snapshot-file.ts";

const LINE_BYTES = 16 * 1024;
const NEWLINE = 10;
/** While the session is made that begins with it. */
const BETWEEN_MS = 3600_000;

const LineSchema = z.object({
  format: z.literal(SNAPSHOT_FORMAT),
  digest: DigestSchema,
  manifest_bytes: z.number().int().positive().max(MANIFEST_LIMIT_BYTES),
  seal: z.string().startsWith("aes2:").max(4096),
});
const SealSchema = z.object({ purpose: z.literal("snapshot"), tenant: z.string(), digest: DigestSchema });

export async function snapshotText(env: Env, row: ReadySnapshot): Promise<string> {
  const { length, stream } = await openSnapshotFile(env, row);
  if (length > (SNAPSHOT_TEXT_CHARS / 4) * 3) {
    await stream.cancel();
    const most = Math.floor((SNAPSHOT_TEXT_CHARS / 4) * 3);
    throw new SandbarError(
      "PAYLOAD_TOO_LARGE",
      `The snapshot has ${length} bytes, and an answer may carry ${most}: keep it as a snapshot instead`,
    );
  }
  return toBase64(new Uint8Array(await new Response(stream).arrayBuffer()));
}

/** Stores it for the session that shall begin with it; the caller deletes it. */
export async function storeSnapshotText(
  env: Env,
  tenant: string,
  session: string,
  text: string,
): Promise<string> {
  const { digest, manifest, chunks } = await opened(env, tenant, fromBase64(text));
  const now = Date.now();
  const row = await addSnapshot(
    env.DB,
    {
      id: newId("snp"),
      tenant,
      session_id: session,
      name: null,
      request_key: null,
      created_at: new Date(now).toISOString(),
      expires_at: new Date(now + BETWEEN_MS).toISOString(),
    },
    artifactLimits(env),
  );
  if (!row) throw new SandbarError("QUOTA_EXCEEDED", "The tenant may have no more artifacts and snapshots");
  const writing: Writing = { tenant, session, snapshot: row.id };
  try {
    for (const batch of batches(chunks)) await storeChunks(env, writing, batch);
    await storeManifest(env, writing, { sha256: digest, bytes: manifest });
    return row.id;
  } catch (error) {
    await deleteSnapshot(env, tenant, row.id);
    throw error;
  }
}

async function opened(env: Env, tenant: string, bytes: Uint8Array) {
  const end = bytes.subarray(0, LINE_BYTES).indexOf(NEWLINE);
  const line = LineSchema.safeParse(readJson(new TextDecoder().decode(bytes.subarray(0, Math.max(0, end)))));
  if (!line.success) throw foreign("it does not begin as one");
  const { digest, manifest_bytes, seal } = line.data;
  const sealed = SealSchema.safeParse(await unseal(env, seal).catch(() => null));
  if (!sealed.success || sealed.data.tenant !== tenant || sealed.data.digest !== digest)
    throw foreign("this deployment has not made it for this tenant");
  const manifest = bytes.subarray(end + 1, end + 1 + manifest_bytes);
  await checked({ sha256: digest, bytes: manifest });
  let at = end + 1 + manifest_bytes;
  const chunks = chunksOf(readManifest(manifest)).map(([sha256, size]: Chunk): NewBlob => {
    at += size;
    return { sha256, bytes: bytes.subarray(at - size, at) };
  });
  if (at !== bytes.length) throw foreign("its length is another one");
  for (const chunk of chunks) await checked(chunk);
  return { digest, manifest, chunks };
}

async function checked(blob: NewBlob): Promise<void> {
  await verify(blob).catch(() => {
    throw foreign("its bytes have changed");
  });
}

function* batches(chunks: readonly NewBlob[]): Generator<NewBlob[]> {
  let batch: NewBlob[] = [];
  let bytes = 0;
  for (const chunk of chunks) {
    if (batch.length === CHUNK_BATCH || bytes + chunk.bytes.length > CHUNK_BATCH_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(chunk);
    bytes += chunk.bytes.length;
  }
  if (batch.length > 0) yield batch;
}

const foreign = (why: string) =>
  new SandbarError("SNAPSHOT_DAMAGED", `These are not the bytes of a snapshot: ${why}`);

const AT_ONCE = 0x2000 * 3;

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += AT_ONCE)
    text += btoa(String.fromCharCode(...bytes.subarray(i, i + AT_ONCE)));
  return text;
}

function fromBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  } catch {
    throw foreign("they are not base64");
  }
}

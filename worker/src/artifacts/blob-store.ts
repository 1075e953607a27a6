/**
 * A tenant's content: bytes in R2, one row per SHA-256 in D1. Every upload gets an object key of its own, so deleting
 * content never hits an upload of the same bytes that is on its way. Bytes without a row are collected by the sweep.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";
import { and, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type ArtifactRow, type BlobRow, blobs } from "../db/artifact-tables.ts";
import type { SnapshotRow } from "../db/snapshot-tables.ts";
import type { Env } from "../env.ts";
import { r2Credentials } from "./presign.ts";

export const BLOB_PREFIX = "blobs/";
const DELETE_AT_ONCE = 1_000;

export interface NewBlob {
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export function newObjectKey(tenant: string, sha256: string): string {
  return `${BLOB_PREFIX}${tenant}/${sha256}/${crypto.randomUUID()}`;
}

/** Where content was put; known to nobody until it has its row. */
export type NewRow = Omit<BlobRow, "created_at">;

/**
 * Stores verified content that lies one after another in `body`. Small files share an object: one write instead of
 * hundreds, unless links are presigned, which need an object for each.
 */
export async function storeBundle(
  env: Env,
  tenant: string,
  given: readonly NewBlob[],
  body: Uint8Array,
): Promise<NewRow[]> {
  if (given.length === 0) return [];
  await Promise.all(given.map(verify));
  if (given.length > 1 && !r2Credentials(env)) {
    const object_key = `${newObjectKey(tenant, given[0]!.sha256)}+${given.length - 1}`;
    await fromStore(env.BLOBS.put(object_key, body));
    let end = 0;
    return given.map(({ sha256, bytes: { byteLength: size } }) => {
      end += size;
      return { tenant, sha256, size, object_key, object_offset: end - size };
    });
  }
  return Promise.all(
    given.map(async ({ sha256, bytes }) => {
      const object_key = newObjectKey(tenant, sha256);
      await fromStore(env.BLOBS.put(object_key, bytes));
      return { tenant, sha256, size: bytes.byteLength, object_key, object_offset: 0 };
    }),
  );
}

export async function verify({ sha256, bytes }: NewBlob): Promise<void> {
  const digest = hex(await crypto.subtle.digest("SHA-256", bytes as BufferSource));
  if (digest !== sha256)
    throw new SandbarError("VALIDATION_FAILED", `The bytes have the SHA-256 ${digest}, not ${sha256}`);
}

export function hex(digest: ArrayBuffer): string {
  let text = "";
  for (const byte of new Uint8Array(digest)) text += byte.toString(16).padStart(2, "0");
  return text;
}

/** The first to bring some content wins; a second copy of it is left to the sweep. */
export function addBlobRows(d1: D1Database, rows: readonly NewRow[]): D1PreparedStatement {
  return d1
    .prepare(
      `INSERT OR IGNORE INTO blobs (tenant, sha256, size, object_key, object_offset, created_at)
       SELECT r.value->>'tenant', r.value->>'sha256', r.value->>'size', r.value->>'object_key',
         r.value->>'object_offset', ? FROM json_each(?) AS r`,
    )
    .bind(new Date().toISOString(), JSON.stringify(rows));
}

export async function findBlob(env: Env, tenant: string, sha256: string): Promise<BlobRow | null> {
  const rows = await drizzle(env.DB)
    .select()
    .from(blobs)
    .where(and(eq(blobs.tenant, tenant), eq(blobs.sha256, sha256)))
    .limit(1);
  return rows[0] ?? null;
}

/** The bytes from `start`, `length` of them; null when they were deleted a moment ago. */
export async function openBlob(
  env: Env,
  blob: BlobRow,
  start = 0,
  length = blob.size - start,
): Promise<ReadableStream<Uint8Array> | null> {
  if (length === 0) return new Response(new Uint8Array(0)).body;
  const range = { offset: blob.object_offset + start, length };
  const object = await fromStore(env.BLOBS.get(blob.object_key, { range }));
  if (object) return object.body;
  if (await forget(env, blob)) throw new SandbarError("CONTENT_LOST");
  return null;
}

/** Whoever brings the content again must send it, and so brings it back. False when it was forgotten already. */
export async function forget(env: Env, { tenant, sha256, object_key }: BlobRow): Promise<boolean> {
  const { meta } = await env.DB.prepare(
    "DELETE FROM blobs WHERE tenant = ? AND sha256 = ? AND object_key = ?",
  )
    .bind(tenant, sha256, object_key)
    .run();
  if (meta.changes > 0) console.error("the blob store has lost", object_key);
  return meta.changes > 0;
}

/** What R2 fails at for reasons of its own may work later, and is not the caller's fault. */
export async function fromStore<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof SandbarError) throw error;
    console.error("the blob store failed", error);
    throw new SandbarError("STORE_UNAVAILABLE");
  }
}

/** Deletes artifacts, and in the same transaction the content that no other artifact has. */
export async function deleteArtifacts(
  env: Env,
  rows: readonly Pick<ArtifactRow, "id" | "tenant" | "session_id" | "sha256">[],
): Promise<void> {
  const json = JSON.stringify(rows.map(({ id, tenant, sha256 }) => ({ id, tenant, sha256 })));
  const sessions = JSON.stringify(rows.map(({ session_id }) => `s/${session_id}`));
  const [, dropped] = await env.DB.batch<{ key: string }>([
    env.DB.prepare("DELETE FROM artifacts WHERE id IN (SELECT value->>'id' FROM json_each(?))").bind(json),
    env.DB.prepare(
      `DELETE FROM blobs WHERE (tenant, sha256) IN (SELECT value->>'tenant', value->>'sha256' FROM json_each(?))
       AND ${UNUSED} RETURNING object_key AS key`,
    ).bind(json),
    env.DB.prepare(
      "DELETE FROM storage_totals WHERE scope IN (SELECT value FROM json_each(?)) AND count = 0",
    ).bind(sessions),
  ]);
  await deleteObjects(env, [...new Set(dropped!.results.map(({ key }) => key))]);
}

/**
 * Deletes a snapshot, and in the same transaction the content that nothing else has. With `only` nothing happens when
 * it is in another state by then.
 */
export async function deleteSnapshot(
  env: Env,
  tenant: string,
  id: string,
  only: SnapshotRow["state"] | null = null,
): Promise<void> {
  const [, dropped] = await env.DB.batch<{ key: string }>([
    env.DB.prepare("DELETE FROM snapshots WHERE tenant = ?1 AND id = ?2 AND (?3 IS NULL OR state = ?3)").bind(
      tenant,
      id,
      only,
    ),
    env.DB.prepare(
      `DELETE FROM blobs WHERE tenant = ?1 AND sha256 IN
         (SELECT sha256 FROM snapshot_chunks WHERE snapshot_id = ?2 AND tenant = ?1)
       AND ${NO_ARTIFACT} AND NOT EXISTS (SELECT 1 FROM snapshot_chunks AS k
         WHERE k.tenant = blobs.tenant AND k.sha256 = blobs.sha256 AND k.snapshot_id <> ?2)
       AND NOT EXISTS (SELECT 1 FROM snapshots WHERE id = ?2)
       RETURNING object_key AS key`,
    ).bind(tenant, id),
    env.DB.prepare(
      `DELETE FROM snapshot_chunks WHERE snapshot_id = ?1 AND tenant = ?2
       AND NOT EXISTS (SELECT 1 FROM snapshots WHERE id = ?1)`,
    ).bind(id, tenant),
  ]);
  await deleteObjects(env, [...new Set(dropped!.results.map(({ key }) => key))]);
}

/** Removes content of that age whose artifact was never recorded. */
export async function dropAbandoned(env: Env, from: string, until: string): Promise<void> {
  const { results } = await env.DB.prepare(
    `DELETE FROM blobs WHERE created_at >= ? AND created_at < ? AND ${UNUSED} RETURNING object_key AS key`,
  )
    .bind(from, until)
    .all<{ key: string }>();
  await deleteObjects(env, [...new Set(results.map(({ key }) => key))]);
}

const NO_ARTIFACT =
  "NOT EXISTS (SELECT 1 FROM artifacts AS a WHERE a.tenant = blobs.tenant AND a.sha256 = blobs.sha256)";
const UNUSED = `${NO_ARTIFACT}
  AND NOT EXISTS (SELECT 1 FROM snapshot_chunks AS k WHERE k.tenant = blobs.tenant AND k.sha256 = blobs.sha256)`;

/** Deletes those objects that no row points into. */
export async function deleteObjects(env: Env, keys: readonly string[]): Promise<number> {
  let count = 0;
  for (let i = 0; i < keys.length; i += DELETE_AT_ONCE) {
    const { results } = await env.DB.prepare(
      "SELECT k.value AS key FROM json_each(?) AS k WHERE NOT EXISTS (SELECT 1 FROM blobs WHERE object_key = k.value)",
    )
      .bind(JSON.stringify(keys.slice(i, i + DELETE_AT_ONCE)))
      .all<{ key: string }>();
    if (results.length > 0) await env.BLOBS.delete(results.map(({ key }) => key));
    count += results.length;
  }
  return count;
}

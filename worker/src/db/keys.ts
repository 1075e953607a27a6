/** @module API keys in D1. */
import { type ApiKey, newId, type Scope } from "@sandbar/shared";
import { and, desc, eq, isNotNull, isNull, lt, lte, or } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { newSecret, sha256Hex } from "../tokens.ts";
import { revocation } from "./revocations.ts";
import { apiKeys } from "./schema.ts";

export const KEY_PREFIX = "sbk_";
const DEFAULT_TENANT = "default";

export interface NewKey {
  readonly name: string;
  readonly tenant?: string | undefined;
  readonly scopes: Scope[];
  readonly expires_at?: string | undefined;
}

export type KeyRow = typeof apiKeys.$inferSelect;

/** A key's row and its secret, which is nowhere else. */
async function mintKey(wanted: NewKey): Promise<{ row: KeyRow; secret: string }> {
  const secret = newSecret(KEY_PREFIX);
  const row: KeyRow = {
    id: newId("key"),
    digest: await sha256Hex(secret),
    name: wanted.name,
    tenant: wanted.tenant ?? DEFAULT_TENANT,
    scopes: wanted.scopes,
    created_at: new Date().toISOString(),
    expires_at: wanted.expires_at ? new Date(wanted.expires_at).toISOString() : null,
    last_used_at: null,
  };
  return { row, secret };
}

export async function createKey(d1: D1Database, wanted: NewKey): Promise<ApiKey & { secret: string }> {
  const { row, secret } = await mintKey(wanted);
  await drizzle(d1).insert(apiKeys).values(row);
  return { ...publicKey(row), secret };
}

export async function findKeyByDigest(d1: D1Database, digest: string): Promise<KeyRow | null> {
  const rows = await drizzle(d1).select().from(apiKeys).where(eq(apiKeys.digest, digest)).limit(1);
  return rows[0] ?? null;
}

export async function findKeyById(d1: D1Database, id: string): Promise<KeyRow | null> {
  const rows = await drizzle(d1).select().from(apiKeys).where(eq(apiKeys.id, id)).limit(1);
  return rows[0] ?? null;
}

export async function listKeys(d1: D1Database, before: string | null, limit: number): Promise<ApiKey[]> {
  const rows = await drizzle(d1)
    .select()
    .from(apiKeys)
    .where(before === null ? undefined : lt(apiKeys.id, before))
    .orderBy(desc(apiKeys.id))
    .limit(limit);
  return rows.map(publicKey);
}

export async function tenantsWithKeys(d1: D1Database): Promise<string[]> {
  const { results } = await d1.prepare("SELECT DISTINCT tenant FROM api_keys").all<{ tenant: string }>();
  return results.map(({ tenant }) => tenant);
}

/** False when there was no such key. */
export async function deleteKey(d1: D1Database, id: string): Promise<boolean> {
  const [deleted] = await d1.batch([
    d1.prepare("DELETE FROM api_keys WHERE id = ?").bind(id),
    revocation(d1),
  ]);
  return deleted!.meta.changes > 0;
}

/** Written when the last time is this old, so that a key that is used all the time costs a write in a while. */
const USE_NOTED_MS = 5 * 60_000;

export const mustNoteUse = ({ last_used_at }: KeyRow, now: number) =>
  last_used_at === null || now - Date.parse(last_used_at) >= USE_NOTED_MS;

export async function noteUse(d1: D1Database, { id }: KeyRow, now: number): Promise<void> {
  const noted = new Date(now).toISOString();
  // Other isolates see the same old time; the first one writes.
  const old = or(
    isNull(apiKeys.last_used_at),
    lte(apiKeys.last_used_at, new Date(now - USE_NOTED_MS).toISOString()),
  );
  await drizzle(d1)
    .update(apiKeys)
    .set({ last_used_at: noted })
    .where(and(eq(apiKeys.id, id), old));
}

export async function pruneKeys(d1: D1Database, expiredBefore: string): Promise<void> {
  await drizzle(d1)
    .delete(apiKeys)
    .where(and(isNotNull(apiKeys.expires_at), lt(apiKeys.expires_at, expiredBefore)));
}

function publicKey({ digest: _, ...row }: KeyRow): ApiKey {
  return row;
}

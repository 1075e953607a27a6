/** @module Tokens for one session, in D1. */
import { newId, type SessionToken, TOKEN_LIMIT, type TokenVerb } from "@sandbar/shared";
import { and, desc, eq, getTableColumns, gt, isNull, lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { KeyRow } from "./keys.ts";
import { revocation } from "./revocations.ts";
import { apiKeys, sessions, sessionTokens } from "./schema.ts";

export interface NewToken {
  readonly tenant: string;
  readonly session_id: string;
  readonly key_id: string;
  readonly verbs: TokenVerb[];
  readonly label: string | null;
  readonly expires_at: string;
}

/** What a token lets its holder do. */
export type Grant = Pick<SessionToken, "id" | "session_id" | "verbs">;

/** Null when the session has as many as it may have. */
export async function addToken(d1: D1Database, wanted: NewToken): Promise<SessionToken | null> {
  const { tenant, session_id, key_id, verbs, label, expires_at } = wanted;
  const id = newId("tok");
  const created_at = new Date().toISOString();
  const { meta } = await d1
    .prepare(
      `INSERT INTO session_tokens (id, tenant, session_id, key_id, verbs, label, created_at, expires_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
       WHERE (SELECT count(*) FROM session_tokens WHERE session_id = ?3 AND expires_at > ?7) < ${TOKEN_LIMIT}`,
    )
    .bind(id, tenant, session_id, key_id, JSON.stringify(verbs), label, created_at, expires_at)
    .run();
  return meta.changes > 0 ? { id, session_id, verbs, label, key_id, created_at, expires_at } : null;
}

/** Those that are good still, newest first. */
export async function listTokens(
  d1: D1Database,
  tenant: string,
  session: string,
  before: string | null,
  limit: number,
): Promise<SessionToken[]> {
  const rows = await drizzle(d1)
    .select(getTableColumns(sessionTokens))
    .from(sessionTokens)
    .innerJoin(apiKeys, eq(apiKeys.id, sessionTokens.key_id))
    .where(
      and(
        eq(sessionTokens.session_id, session),
        eq(sessionTokens.tenant, tenant),
        gt(sessionTokens.expires_at, new Date().toISOString()),
        before === null ? undefined : lt(sessionTokens.id, before),
      ),
    )
    .orderBy(desc(sessionTokens.id))
    .limit(limit);
  return rows.map(({ tenant: _, ...token }) => token);
}

/** False when there was no such token. */
export async function deleteToken(
  d1: D1Database,
  tenant: string,
  session: string,
  id: string,
): Promise<boolean> {
  const [deleted] = await d1.batch([
    d1
      .prepare("DELETE FROM session_tokens WHERE id = ? AND tenant = ? AND session_id = ?")
      .bind(id, tenant, session),
    revocation(d1),
  ]);
  return deleted!.meta.changes > 0;
}

/** The key that a token stands for, with the time when the token ends as its own; a session that ended has none. */
export async function findKeyOfToken(
  d1: D1Database,
  id: string,
): Promise<(KeyRow & { grant: Grant }) | null> {
  const rows = await drizzle(d1)
    .select({ key: getTableColumns(apiKeys), token: getTableColumns(sessionTokens) })
    .from(sessionTokens)
    .innerJoin(apiKeys, eq(apiKeys.id, sessionTokens.key_id))
    .leftJoin(sessions, eq(sessions.id, sessionTokens.session_id))
    .where(and(eq(sessionTokens.id, id), isNull(sessions.ended_at)))
    .limit(1);
  const row = rows[0];
  if (!row || row.key.tenant !== row.token.tenant) return null;
  const { session_id, verbs, expires_at } = row.token;
  return { ...row.key, digest: id, expires_at, grant: { id, session_id, verbs } };
}

/** What has ended, or belongs to what has. */
export async function pruneTokens(d1: D1Database): Promise<void> {
  await d1
    .prepare(
      `DELETE FROM session_tokens WHERE expires_at < ?
       OR key_id NOT IN (SELECT id FROM api_keys)
       OR session_id IN (SELECT id FROM sessions WHERE ended_at IS NOT NULL)`,
    )
    .bind(new Date().toISOString())
    .run();
}

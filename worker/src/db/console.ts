/** @module Browsers that have signed in, and links that let one do so, in D1. */
import { newId } from "@sandbar/shared";
import { and, eq, getTableColumns, gt, lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { newSecret, sha256Hex } from "../tokens.ts";
import type { KeyRow } from "./keys.ts";
import { revocation } from "./revocations.ts";
import { apiKeys, consoleCodes, consoleSessions } from "./schema.ts";

/** Of one key, each: the oldest goes first. */
const SESSIONS_LIMIT = 100;
const CODES_LIMIT = 20;

export interface ConsoleSession {
  readonly id: string;
  readonly key_id: string;
  readonly expires_at: string;
}

/** Ends with its key, if that has an end that comes sooner. */
export async function addConsoleSession(
  d1: D1Database,
  key: Pick<KeyRow, "id" | "expires_at">,
  lifeMs: number,
): Promise<ConsoleSession> {
  const now = Date.now();
  const longest = new Date(now + lifeMs).toISOString();
  const expires_at = key.expires_at !== null && key.expires_at < longest ? key.expires_at : longest;
  const row = { id: newId("con"), key_id: key.id, created_at: new Date(now).toISOString(), expires_at };
  const db = drizzle(d1);
  const surplus = d1
    .prepare(
      `DELETE FROM console_sessions WHERE key_id = ?1 AND id NOT IN
       (SELECT id FROM console_sessions WHERE key_id = ?1 ORDER BY id DESC LIMIT ${SESSIONS_LIMIT})`,
    )
    .bind(key.id);
  await db.insert(consoleSessions).values(row);
  const { meta } = await surplus.run();
  if (meta.changes > 0) await revocation(d1).run();
  return row;
}

/** The key that a browser's session stands for, with the time when the session ends as its own. */
export async function findKeyOfConsoleSession(d1: D1Database, id: string): Promise<KeyRow | null> {
  const rows = await drizzle(d1)
    .select({ ...getTableColumns(apiKeys), ends_at: consoleSessions.expires_at })
    .from(consoleSessions)
    .innerJoin(apiKeys, eq(apiKeys.id, consoleSessions.key_id))
    .where(eq(consoleSessions.id, id))
    .limit(1);
  const row = rows[0];
  if (!row) return null;
  const { ends_at, ...key } = row;
  return { ...key, expires_at: ends_at };
}

export async function endConsoleSession(d1: D1Database, id: string): Promise<void> {
  await d1.batch([d1.prepare("DELETE FROM console_sessions WHERE id = ?").bind(id), revocation(d1)]);
}

export async function addConsoleCode(
  d1: D1Database,
  keyId: string,
  lifeMs: number,
): Promise<{ code: string; expires_at: string }> {
  const code = newSecret("");
  const expires_at = new Date(Date.now() + lifeMs).toISOString();
  await drizzle(d1)
    .insert(consoleCodes)
    .values({ digest: await sha256Hex(code), key_id: keyId, expires_at });
  await d1
    .prepare(
      `DELETE FROM console_codes WHERE key_id = ?1 AND digest NOT IN
       (SELECT digest FROM console_codes WHERE key_id = ?1 ORDER BY expires_at DESC LIMIT ${CODES_LIMIT})`,
    )
    .bind(keyId)
    .run();
  return { code, expires_at };
}

/** Taken by whoever comes first: the id of the key that it stands for. */
export async function redeemConsoleCode(d1: D1Database, code: string): Promise<string | null> {
  const taken = await drizzle(d1)
    .delete(consoleCodes)
    .where(
      and(
        eq(consoleCodes.digest, await sha256Hex(code)),
        gt(consoleCodes.expires_at, new Date().toISOString()),
      ),
    )
    .returning({ key_id: consoleCodes.key_id });
  return taken[0]?.key_id ?? null;
}

export async function pruneConsole(d1: D1Database): Promise<void> {
  const now = new Date().toISOString();
  await drizzle(d1).delete(consoleSessions).where(lt(consoleSessions.expires_at, now));
  await drizzle(d1).delete(consoleCodes).where(lt(consoleCodes.expires_at, now));
}

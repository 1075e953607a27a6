/**
 * The keys that sign links, kept sealed in D1: made on first use, replaced by the schedule, honoured until retired. An isolate
 * keeps them for a while and looks again when it meets one that it does not know.
 *
 * @module
 */
import { and, isNull, lt } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { signingKeys } from "../db/artifact-tables.ts";
import type { Env } from "../env.ts";
import { seal, unseal } from "../sealed.ts";

const KEPT_MS = 60_000;
/** No link lives longer, so a key that was replaced so long ago has none left. */
export const LINK_MAX_S = 7 * 24 * 3600;

export interface SigningKey {
  readonly kid: string;
  readonly secret: CryptoKey;
  readonly retired_at: string | null;
}

export type SigningEnv = Pick<Env, "DB" | "SECRETS_KEY">;

let cached: { keys: SigningKey[]; at: number } | null = null;

export async function currentKey(env: SigningEnv): Promise<SigningKey> {
  let key = newest(await load(env, false));
  if (!key) {
    await addKey(env);
    key = newest(await load(env, true));
  }
  if (!key) throw new Error("no signing key could be made");
  return key;
}

export async function keyById(env: SigningEnv, kid: string): Promise<SigningKey | null> {
  const find = (keys: SigningKey[]) => keys.find((key) => key.kid === kid);
  const key = find(await load(env, false)) ?? find(await load(env, true));
  if (!key || (key.retired_at !== null && Date.parse(key.retired_at) <= Date.now())) return null;
  return key;
}

/** Replaces a key that is older than `maxAgeMs`; its links stay good as long as they were promised. */
export async function rotateSigningKeys(d1: D1Database, maxAgeMs: number): Promise<void> {
  const db = drizzle(d1);
  const now = Date.now();
  const old = and(
    isNull(signingKeys.retired_at),
    lt(signingKeys.created_at, new Date(now - maxAgeMs).toISOString()),
  );
  await db
    .update(signingKeys)
    .set({ retired_at: new Date(now + LINK_MAX_S * 1000).toISOString() })
    .where(old);
  await db.delete(signingKeys).where(lt(signingKeys.retired_at, new Date(now).toISOString()));
  cached = null;
}

const newest = (keys: SigningKey[]) => keys.find(({ retired_at }) => retired_at === null);

async function load(env: SigningEnv, anew: boolean): Promise<SigningKey[]> {
  if (!anew && cached && Date.now() - cached.at < KEPT_MS) return cached.keys;
  const rows = await drizzle(env.DB).select().from(signingKeys).orderBy(signingKeys.created_at);
  const keys = await Promise.all(
    rows.reverse().map(async ({ kid, secret, retired_at }) => ({
      kid,
      retired_at,
      secret: await imported(String(await unseal(env, secret))),
    })),
  );
  cached = { keys, at: Date.now() };
  return keys;
}

/** Of many that make the first key at once, one succeeds. */
async function addKey(env: SigningEnv): Promise<void> {
  const secret = btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))));
  const sealed = await seal(env, secret);
  await env.DB.prepare(
    `INSERT INTO signing_keys (kid, secret, created_at, retired_at)
       SELECT ?, ?, ?, NULL WHERE NOT EXISTS (SELECT 1 FROM signing_keys WHERE retired_at IS NULL)`,
  )
    .bind(crypto.randomUUID(), sealed, new Date().toISOString())
    .run();
}

/** Once, not for each of a thousand links. */
function imported(secret: string): Promise<CryptoKey> {
  const bytes = Uint8Array.from(atob(secret), (char) => char.charCodeAt(0));
  return crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);
}

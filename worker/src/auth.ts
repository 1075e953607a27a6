/**
 * Who calls: a key, or a browser that signed in with one. It is looked up in D1 and the answer kept for a while in this
 * isolate, so a hot call reads no database and a revoked key stops working within the time below. What is open for long
 * asks again and again.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { SandbarError, type Scope } from "@sandbar/shared";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./app-env.ts";
import { hasCookie, sessionInCookie } from "./console/cookie.ts";
import { requireOwnPage } from "./console/own-origin.ts";
import { findKeyOfConsoleSession } from "./db/console.ts";
import { findKeyByDigest, findKeyById, KEY_PREFIX, type KeyRow, mustNoteUse, noteUse } from "./db/keys.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import { countGuess, requireFewGuesses } from "./rates/rate-limits.ts";
import { sha256Hex } from "./tokens.ts";

const KNOWN_MS = 30_000;
const UNKNOWN_MS = 3_000;
/** Of browsers, whose users expect that signing out is the end wherever they are. */
const BROWSER_KNOWN_MS = 3_000;
const SECRET = new RegExp(`^Bearer +(${KEY_PREFIX}[A-Za-z0-9_-]{43})$`, "i");

/** Who looks after hosts need not run code or read files: that is another scope, not a lesser one. */
const INCLUDES: Record<Scope, readonly Scope[]> = {
  agent: ["agent"],
  operator: ["operator"],
  admin: ["admin", "operator", "agent"],
};

export { RECHECK_MS } from "./recheck.ts";

export interface Caller {
  readonly key_id: string;
  readonly key_name: string;
  /** What is said of that which the caller makes: the id of the key. */
  readonly made_by: string;
  /** What `stillGood` knows the caller by: the id of the key, or of the browser's session. */
  readonly credential: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly expires_at: string | null;
  readonly via: "key" | "cookie";
}

const known = new ExpiringCache<string, KeyRow>(10_000);
/** Who sent which header a moment ago: a hot call need not digest its secret. It may be no older than what it is made of. */
const callers = new ExpiringCache<string, { row: KeyRow; caller: Caller }>(1_000);
const unknown = new ExpiringCache<string, true>(1_000);
/** Headers that were good within this time: who guesses behind the same address does not shut them out. */
const PROVEN_MS = 3_600_000;
const proven = new ExpiringCache<string, true>(10_000);

/** Counted, so that what was read before a revocation is not kept after it. */
let revocations = 0;

/** Revocation is at once in the isolate that did it. */
export function forgetKeys(): void {
  revocations++;
  known.clear();
  unknown.clear();
  callers.clear();
  proven.clear();
}

export async function authenticate(d1: D1Database, header: string | undefined): Promise<Caller> {
  const recent = header === undefined ? undefined : callers.get(header);
  if (recent && known.get(recent.row.digest) === recent.row && !hasExpired(recent.row)) return recent.caller;
  const secret = header === undefined ? null : SECRET.exec(header)?.[1];
  if (!secret)
    throw new SandbarError(
      "UNAUTHENTICATED",
      header ? "The Authorization header has no API key" : "No Authorization header",
    );
  const row = await keyOfSecret(d1, secret);
  if (!row) throw new SandbarError("UNAUTHENTICATED", "The API key is not known");
  if (hasExpired(row)) throw new SandbarError("UNAUTHENTICATED", "The API key has expired");
  const caller = callerOf(row, row.id);
  proven.set(header!, true, PROVEN_MS);
  if (known.get(row.digest) === row) callers.set(header!, { row, caller }, KNOWN_MS);
  return caller;
}

/** A wrong key costs who shows it: after some of them the address waits, unless a key is known to be good. */
export async function authenticateKey(c: Context<AppEnv>, header: string | undefined): Promise<Caller> {
  const trusted = header === undefined || proven.get(header) === true;
  if (!trusted) requireFewGuesses(c);
  try {
    return await authenticate(c.env.DB, header);
  } catch (error) {
    if (header !== undefined && error instanceof SandbarError && error.code === "UNAUTHENTICATED")
      countGuess(c);
    throw error;
  }
}

async function authenticateBrowser(c: Context<AppEnv>): Promise<Caller> {
  requireOwnPage(c.env, c.req.raw);
  const session = await sessionInCookie(c);
  const caller = session && (await callerBy(c.env.DB, session));
  if (!caller) throw new SandbarError("UNAUTHENTICATED", "The browser is not signed in any more");
  return caller;
}

export async function keyOfSecret(d1: D1Database, secret: string): Promise<KeyRow | null> {
  const digest = await sha256Hex(secret);
  const row = await lookUp(d1, digest);
  return row && sameDigest(row.digest, digest) ? row : null;
}

/** Whoever has this credential; null when it is not good any more. */
export async function callerBy(d1: D1Database, credential: string): Promise<Caller | null> {
  const row = await lookUp(d1, credential);
  return row && !hasExpired(row) ? callerOf(row, credential) : null;
}

/** Whether what a caller has opened may stay open. A database that does not answer ends nothing. */
export async function stillGood(d1: D1Database, credential: string): Promise<boolean> {
  try {
    return (await callerBy(d1, credential)) !== null;
  } catch (error) {
    console.error("could not look up a key", error);
    return true;
  }
}

function callerOf(row: KeyRow, credential: string): Caller {
  return {
    key_id: row.id,
    key_name: row.name,
    made_by: row.id,
    credential,
    tenant: row.tenant,
    scopes: new Set(row.scopes.flatMap((scope) => INCLUDES[scope] ?? [])),
    expires_at: row.expires_at,
    via: isBrowser(credential) ? "cookie" : "key",
  };
}

export const hasExpired = ({ expires_at }: Pick<KeyRow, "expires_at">) =>
  expires_at !== null && Date.parse(expires_at) <= Date.now();

const isBrowser = (name: string) => name.startsWith("con_");

/** By the digest of a secret, or by a credential. */
async function lookUp(d1: D1Database, name: string): Promise<KeyRow | null> {
  const cached = known.get(name);
  if (cached) return cached;
  if (unknown.get(name)) return null;
  const before = revocations;
  const row = await find(d1, name);
  if (row && mustNoteUse(row, Date.now())) noteUseLater(d1, row);
  if (before !== revocations) return row;
  if (row) known.set(name, row, isBrowser(name) ? BROWSER_KNOWN_MS : KNOWN_MS);
  else unknown.set(name, true, UNKNOWN_MS);
  return row;
}

/** Nobody waits for it: the answer does not, and a database that refuses it harms nothing. */
function noteUseLater(d1: D1Database, row: KeyRow): void {
  waitUntil(
    noteUse(d1, row, Date.now()).catch((error) => console.error("could not note a key's use", error)),
  );
}

function find(d1: D1Database, name: string): Promise<KeyRow | null> {
  if (isBrowser(name)) return findKeyOfConsoleSession(d1, name);
  return name.startsWith("key_") ? findKeyById(d1, name) : findKeyByDigest(d1, name);
}

function sameDigest(a: string, b: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(a), encoder.encode(b)];
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right);
}

/** A browser's WebSocket cannot have headers, but it may offer `bearer.<api key>` as a protocol. */
function bearerProtocol({ headers }: Request): string | undefined {
  if (headers.get("Upgrade")?.toLowerCase() !== "websocket") return undefined;
  const key = /(?:^|,)\s*bearer\.([A-Za-z0-9_-]+)\s*(?:,|$)/.exec(
    headers.get("Sec-WebSocket-Protocol") ?? "",
  )?.[1];
  return key && `Bearer ${key}`;
}

/** Finds out who calls, or refuses. A browser's cookie counts when there is no key. */
export const authenticated = createMiddleware<AppEnv>(async (c, next) => {
  if (c.env.ACTING) {
    c.set("caller", c.env.ACTING);
    return next();
  }
  const header = c.req.header("Authorization") ?? bearerProtocol(c.req.raw);
  const browser = header === undefined && hasCookie(c);
  c.set("caller", browser ? await authenticateBrowser(c) : await authenticateKey(c, header));
  await next();
});

/** Lets through only callers that have the scope. */
export const requireScope = (scope: Scope) =>
  createMiddleware<AppEnv>(async (c, next) => {
    if (!c.get("caller").scopes.has(scope))
      throw new SandbarError("FORBIDDEN", `This needs a key with the scope ${scope}`);
    await next();
  });

/**
 * Who calls: a key, a browser that signed in with one, or a token for one session. It is looked up in D1 and the answer
 * kept for a while in this isolate, so a hot call reads no database. What is revoked in another isolate is forgotten
 * here as soon as the count of revocations is seen to have grown. What is open for long asks again and again.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { SandbarError, type Scope, TOKEN_PREFIX } from "@sandbar/shared";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./app-env.ts";
import { hasCookie, sessionInCookie } from "./console/cookie.ts";
import { requireOwnPage } from "./console/own-origin.ts";
import { findKeyOfConsoleSession } from "./db/console.ts";
import { findKeyByDigest, findKeyById, KEY_PREFIX, type KeyRow, mustNoteUse, noteUse } from "./db/keys.ts";
import { countRevocations } from "./db/revocations.ts";
import { findKeyOfToken, type Grant } from "./db/session-tokens.ts";
import type { Env } from "./env.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import { countGuess, requireFewGuesses } from "./rates/rate-limits.ts";
import { sessionTokenId } from "./session-token.ts";
import { sha256Hex } from "./tokens.ts";

const KNOWN_MS = 30_000;
const UNKNOWN_MS = 3_000;
/** Whoever calls sees to it that the count of revocations is not much older than this; nobody waits for it, */
const NEWS_SOON_MS = 1_000;
/** except tokens and browsers when nobody has asked for so long: their end is to be the end wherever they are. */
const NEWS_LATEST_MS = 3_000;
const SECRET = new RegExp(`^Bearer +(${KEY_PREFIX}[A-Za-z0-9_-]{43})$`, "i");
const TOKEN = new RegExp(`^Bearer +${TOKEN_PREFIX}([A-Za-z0-9_.-]{1,2048})$`, "i");

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
  /** What is said of that which the caller makes: the id of the key, or of the token. */
  readonly made_by: string;
  /** What `stillGood` knows the caller by: the id of the key, of the browser's session, or of the token. */
  readonly credential: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly expires_at: string | null;
  readonly via: "key" | "cookie" | "token";
  /** Of a token: the one session that it is for, and what it may do there. */
  readonly grant: Grant | null;
}

/** A key, as whoever stands for it may use it. */
type Credential = KeyRow & { readonly grant?: Grant };

const known = new ExpiringCache<string, Credential>(10_000);
/** Who sent which header a moment ago: a hot call need not digest its secret. It may be no older than what it is made of. */
const callers = new ExpiringCache<string, { row: Credential; caller: Caller }>(1_000);
const unknown = new ExpiringCache<string, true>(1_000);
/** Headers that were good within this time: who guesses behind the same address does not shut them out. */
const PROVEN_MS = 3_600_000;
const proven = new ExpiringCache<string, true>(10_000);

/** Counted, so that what was read before a revocation is not kept after it. */
let revocations = 0;
/** What D1 counted, when it was asked for that, and when it was asked last. */
let counted: number | null = null;
let countedAt = 0;
let askedAt = 0;

/** Revocation is at once in the isolate that did it. */
export function forgetKeys(): void {
  revocations++;
  known.clear();
  unknown.clear();
  callers.clear();
  proven.clear();
}

/** Forgets what another isolate has revoked. A database that does not answer leaves all as it is. */
async function hearNews(d1: D1Database): Promise<void> {
  const asked = Date.now();
  askedAt = asked;
  try {
    const count = await countRevocations(d1);
    if (counted !== null && count !== counted) forgetKeys();
    counted = count;
    countedAt = Math.max(countedAt, asked);
  } catch (error) {
    console.error("could not ask for revocations", error);
  }
}

/** Before anything remembered is believed: news may be so old, and somebody asks for newer ones. */
async function beUpToDate(d1: D1Database, latestMs: number): Promise<void> {
  const now = Date.now();
  if (counted === null || now - countedAt >= latestMs) return hearNews(d1);
  if (now - askedAt >= NEWS_SOON_MS) waitUntil(hearNews(d1));
}

async function authenticate(env: Env, header: string | undefined): Promise<Caller> {
  const recent = header === undefined ? undefined : callers.get(header);
  if (Date.now() - countedAt >= NEWS_SOON_MS)
    await beUpToDate(env.DB, recent?.caller.grant ? NEWS_LATEST_MS : Number.POSITIVE_INFINITY);
  if (recent && known.get(recent.row.digest) === recent.row && !hasExpired(recent.row)) return recent.caller;
  const row = await shownBy(env, header);
  if (hasExpired(row)) throw new SandbarError("UNAUTHENTICATED", `The ${whatIs(row)} has expired`);
  const caller = callerOf(row, row.grant?.id ?? row.id);
  proven.set(header!, true, PROVEN_MS);
  if (known.get(row.digest) === row) callers.set(header!, { row, caller }, KNOWN_MS);
  return caller;
}

const whatIs = ({ grant }: Credential) => (grant ? "token" : "API key");

async function shownBy(env: Env, header: string | undefined): Promise<Credential> {
  const token = header === undefined ? undefined : TOKEN.exec(header)?.[1];
  if (token !== undefined) {
    const id = await sessionTokenId(env, token);
    await beUpToDate(env.DB, NEWS_LATEST_MS);
    const row = id && (await lookUp(env.DB, id));
    if (!row)
      throw new SandbarError("UNAUTHENTICATED", "The token is not known, was revoked, or has expired");
    return row;
  }
  const secret = header === undefined ? null : SECRET.exec(header)?.[1];
  if (!secret)
    throw new SandbarError(
      "UNAUTHENTICATED",
      header ? "The Authorization header has no API key" : "No Authorization header",
    );
  const row = await keyOfSecret(env.DB, secret);
  if (!row) throw new SandbarError("UNAUTHENTICATED", "The API key is not known");
  return row;
}

/** A wrong key costs who shows it: after some of them the address waits, unless a key is known to be good. */
export async function authenticateKey(c: Context<AppEnv>, header: string | undefined): Promise<Caller> {
  const trusted = header === undefined || proven.get(header) === true;
  if (!trusted) requireFewGuesses(c);
  try {
    return await authenticate(c.env, header);
  } catch (error) {
    if (header !== undefined && error instanceof SandbarError && error.code === "UNAUTHENTICATED")
      countGuess(c);
    throw error;
  }
}

async function authenticateBrowser(c: Context<AppEnv>): Promise<Caller> {
  requireOwnPage(c.env, c.req.raw);
  const session = await sessionInCookie(c);
  await beUpToDate(c.env.DB, NEWS_LATEST_MS);
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
    if (Date.now() - countedAt >= NEWS_SOON_MS) await hearNews(d1);
    return (await callerBy(d1, credential)) !== null;
  } catch (error) {
    console.error("could not look up a key", error);
    return true;
  }
}

function callerOf(row: Credential, credential: string): Caller {
  const { grant = null } = row;
  return {
    key_id: row.id,
    key_name: row.name,
    made_by: grant?.id ?? row.id,
    credential,
    tenant: row.tenant,
    scopes: new Set(
      row.scopes.flatMap((scope) => INCLUDES[scope] ?? []).filter((s) => !grant || s === "agent"),
    ),
    expires_at: row.expires_at,
    via: grant ? "token" : isBrowser(credential) ? "cookie" : "key",
    grant,
  };
}

export const hasExpired = ({ expires_at }: Pick<KeyRow, "expires_at">) =>
  expires_at !== null && Date.parse(expires_at) <= Date.now();

const isBrowser = (name: string) => name.startsWith("con_");

/** By the digest of a secret, or by a credential. */
async function lookUp(d1: D1Database, name: string): Promise<Credential | null> {
  const cached = known.get(name);
  if (cached) return cached;
  if (unknown.get(name)) return null;
  // What is read before the first count could be revoked between the two.
  if (counted === null) await hearNews(d1);
  const before = revocations;
  const row = await find(d1, name);
  if (row && mustNoteUse(row, Date.now())) noteUseLater(d1, row);
  if (before !== revocations) return row;
  if (row) known.set(name, row, KNOWN_MS);
  else unknown.set(name, true, UNKNOWN_MS);
  return row;
}

/** Nobody waits for it: the answer does not, and a database that refuses it harms nothing. */
function noteUseLater(d1: D1Database, row: KeyRow): void {
  waitUntil(
    noteUse(d1, row, Date.now()).catch((error) => console.error("could not note a key's use", error)),
  );
}

function find(d1: D1Database, name: string): Promise<Credential | null> {
  if (name.startsWith("tok_")) return findKeyOfToken(d1, name);
  if (isBrowser(name)) return findKeyOfConsoleSession(d1, name);
  return name.startsWith("key_") ? findKeyById(d1, name) : findKeyByDigest(d1, name);
}

function sameDigest(a: string, b: string): boolean {
  const encoder = new TextEncoder();
  const [left, right] = [encoder.encode(a), encoder.encode(b)];
  return left.length === right.length && crypto.subtle.timingSafeEqual(left, right);
}

/** A browser's WebSocket cannot have headers, but it may offer `bearer.<api key or token>` as a protocol. */
function bearerProtocol({ headers }: Request): string | undefined {
  if (headers.get("Upgrade")?.toLowerCase() !== "websocket") return undefined;
  const key = /(?:^|,)\s*bearer\.([A-Za-z0-9_.-]+)\s*(?:,|$)/.exec(
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

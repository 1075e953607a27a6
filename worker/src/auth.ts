/**
 * Who calls. A key's digest is looked up in D1 and the answer kept for a while in this isolate, so a hot call
 * reads no database and a revoked key stops working within the time below. What is open for long asks again and again.
 *
 * @module
 */
import { SandbarError, type Scope } from "@sandbar/shared";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./app-env.ts";
import { findKeyByDigest, KEY_PREFIX, type KeyRow } from "./db/keys.ts";
import { ExpiringCache } from "./expiring-cache.ts";
import { sha256Hex } from "./tokens.ts";

const KNOWN_MS = 30_000;
const UNKNOWN_MS = 3_000;
/** How often whatever a key holds open asks whether it may go on. */
export const RECHECK_MS = 3_000;
const SECRET = new RegExp(`^Bearer +(${KEY_PREFIX}[A-Za-z0-9_-]{43})$`, "i");

/** Who looks after hosts need not run code or read files: that is another scope, not a lesser one. */
const INCLUDES: Record<Scope, readonly Scope[]> = {
  agent: ["agent"],
  operator: ["operator"],
  admin: ["admin", "operator", "agent"],
};

export interface Caller {
  readonly key_id: string;
  /** What `stillGood` knows the key by. */
  readonly digest: string;
  readonly tenant: string;
  readonly scopes: ReadonlySet<Scope>;
}

const known = new ExpiringCache<string, KeyRow>(10_000);
const unknown = new ExpiringCache<string, true>(1_000);

/** Counted, so that what was read before a revocation is not kept after it. */
let revocations = 0;

/** Revocation is at once in the isolate that did it. */
export function forgetKeys(): void {
  revocations++;
  known.clear();
  unknown.clear();
}

export async function authenticate(d1: D1Database, header: string | undefined): Promise<Caller> {
  const secret = header === undefined ? null : SECRET.exec(header)?.[1];
  if (!secret)
    throw new SandbarError(
      "UNAUTHENTICATED",
      header ? "The Authorization header has no API key" : "No Authorization header",
    );
  const digest = await sha256Hex(secret);
  const row = await lookUp(d1, digest);
  if (!row || !sameDigest(row.digest, digest))
    throw new SandbarError("UNAUTHENTICATED", "The API key is not known");
  if (hasExpired(row)) throw new SandbarError("UNAUTHENTICATED", "The API key has expired");
  return {
    key_id: row.id,
    digest,
    tenant: row.tenant,
    scopes: new Set(row.scopes.flatMap((scope) => INCLUDES[scope] ?? [])),
  };
}

/** Whether what a key has opened may stay open. A database that does not answer ends nothing. */
export async function stillGood(d1: D1Database, digest: string): Promise<boolean> {
  try {
    const row = await lookUp(d1, digest);
    return row !== null && !hasExpired(row);
  } catch (error) {
    console.error("could not look up a key", error);
    return true;
  }
}

const hasExpired = ({ expires_at }: KeyRow) => expires_at !== null && Date.parse(expires_at) <= Date.now();

async function lookUp(d1: D1Database, digest: string): Promise<KeyRow | null> {
  const cached = known.get(digest);
  if (cached) return cached;
  if (unknown.get(digest)) return null;
  const before = revocations;
  const row = await findKeyByDigest(d1, digest);
  if (before !== revocations) return row;
  if (row) known.set(digest, row, KNOWN_MS);
  else unknown.set(digest, true, UNKNOWN_MS);
  return row;
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

/** Finds out who calls, or refuses. */
export const authenticated = createMiddleware<AppEnv>(async (c, next) => {
  c.set("caller", await authenticate(c.env.DB, c.req.header("Authorization") ?? bearerProtocol(c.req.raw)));
  await next();
});

/** Lets through only callers that have the scope. */
export const requireScope = (scope: Scope) =>
  createMiddleware<AppEnv>(async (c, next) => {
    if (!c.get("caller").scopes.has(scope))
      throw new SandbarError("FORBIDDEN", `This needs a key with the scope ${scope}`);
    await next();
  });

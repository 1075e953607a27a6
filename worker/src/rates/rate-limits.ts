/**
 * How often callers may ask: each key, each tenant, and each address that shows wrong keys. Counted in this isolate's
 * memory, so no request waits for it: on one machine there is one isolate and the counts are exact; on Cloudflare each
 * isolate counts for itself.
 *
 * @module
 */
import { waitUntil } from "cloudflare:workers";
import { type ErrorCode, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../app-env.ts";
import { clientAddress } from "../client-address.ts";
import { findPolicy } from "../db/policies.ts";
import { type Env, keyRequestsPerMinute, tenantRequestsPerMinute, wrongKeysPerMinute } from "../env.ts";
import { ExpiringCache } from "../expiring-cache.ts";
import { Buckets, type Taken } from "./buckets.ts";
import { networkOf } from "./network-of.ts";

const NAMES = 20_000;
const KNOWN_MS = 30_000;
const keys = new Buckets(NAMES);
const tenants = new Buckets(NAMES);
const executions = new Buckets(NAMES);
const guesses = new Buckets(NAMES);
const dials = new Buckets(NAMES);
/** Daemons pause between dials; many of them may be behind one address. */
const DIALS_PER_MINUTE = 300;

/** Null: no limit, or the operator's default for all. */
interface Rates {
  readonly requests: number | null;
  readonly executions: number | null;
}
const NO_RATES: Rates = { requests: null, executions: null };
const rates = new ExpiringCache<string, Rates>(NAMES);
/** What was known last, until it is known anew: nobody waits for the database. */
const lastRates = new ExpiringCache<string, Rates>(NAMES);

/** A policy was changed in this isolate. */
export function forgetRates(): void {
  rates.clear();
}

function ratesOf(env: Env, tenant: string): Rates {
  const known = rates.get(tenant);
  if (known) return known;
  const last = lastRates.get(tenant) ?? NO_RATES;
  rates.set(tenant, last, KNOWN_MS);
  waitUntil(
    findPolicy(env.DB, tenant)
      .then(({ effective: { shares } }) => {
        const found = { requests: shares.requests_per_minute, executions: shares.executions_per_minute };
        rates.set(tenant, found, KNOWN_MS);
        lastRates.set(tenant, found, 24 * 3600_000);
      })
      .catch((error) => console.error("could not read a tenant's rates", error)),
  );
  return last;
}

/** Takes one from the key's and the tenant's requests, or refuses. */
export const rateLimited = createMiddleware<AppEnv>(async (c, next) => {
  // Whoever has a token spends nothing of what the key that made it may ask.
  const { made_by, tenant } = c.get("caller");
  const now = Date.now();
  const perKey = keyRequestsPerMinute(c.env);
  const perTenant = ratesOf(c.env, tenant).requests ?? tenantRequestsPerMinute(c.env);
  if (perKey > 0) take(c, "key", keys.take(made_by, perKey, now), perKey);
  if (perTenant > 0) take(c, "tenant", tenants.take(tenant, perTenant, now), perTenant);
  await next();
});

/** One execution more of the tenant, or a refusal. */
export function countExecution(c: Context<AppEnv>): void {
  const { tenant } = c.get("caller");
  const perMinute = ratesOf(c.env, tenant).executions;
  if (perMinute === null) return;
  take(c, "executions", executions.take(tenant, Math.max(perMinute, 1e-6), Date.now()), perMinute);
}

function take(c: Context<AppEnv>, what: keyof typeof WORDS, taken: Taken, perMinute: number): void {
  c.header("RateLimit", `"${what}";r=${taken.left};t=${Math.ceil(taken.wait_s)}`);
  if (taken.ok) return;
  c.header("RateLimit-Policy", `"${what}";q=${perMinute};w=60`);
  throw tooMany(`${WORDS[what]}: ${perMinute} a minute`, taken);
}

const WORDS = {
  key: "Requests with this key",
  tenant: "requests_per_minute, requests of this tenant",
  executions: "executions_per_minute, executions of this tenant",
} as const;

function tooMany(detail: string, { wait_s }: Taken): SandbarError {
  return new SandbarError("RATE_LIMITED", detail, { retry_after_s: Math.min(60, Math.max(1, wait_s)) });
}

/** Refuses an address that has shown too many wrong keys, before anybody looks the next one up. */
export function requireFewGuesses(c: Context<AppEnv>): void {
  const [address, perMinute] = guesser(c);
  if (address === null || perMinute === 0) return;
  const seen = guesses.look(address, perMinute, Date.now());
  if (!seen.ok) throw tooMany("Too many wrong keys, tokens and links from this address", seen);
}

export function countGuess(c: Context<AppEnv>): void {
  const [address, perMinute] = guesser(c);
  if (address !== null && perMinute > 0) guesses.take(address, perMinute, Date.now());
}

function guesser(c: Context<AppEnv>): [string | null, number] {
  const address = clientAddress(c.env, c.req.raw);
  return [address && networkOf(address), wrongKeysPerMinute(c.env)];
}

const WRONG = new Set<ErrorCode>(["UNAUTHENTICATED", "ENROLLMENT_INVALID", "LINK_INVALID"]);

/** For paths that take a secret and no key. */
export const guessesCounted = createMiddleware<AppEnv>(async (c, next) => {
  requireFewGuesses(c);
  await next();
  const refusal = c.get("refusal");
  if (refusal && WRONG.has(refusal)) countGuess(c);
});

/** For daemons' links: whoever opens them has proven nothing yet. */
export const dialsLimited = createMiddleware<AppEnv>(async (c, next) => {
  const address = clientAddress(c.env, c.req.raw);
  if (address !== null) {
    const taken = dials.take(networkOf(address), DIALS_PER_MINUTE, Date.now());
    if (!taken.ok) throw tooMany("Too many links are opened from this address", taken);
  }
  await next();
});

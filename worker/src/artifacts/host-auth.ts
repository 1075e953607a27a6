/**
 * Who brings bytes: a daemon that signs each request with its host's key, for a session that lives on that host.
 *
 * @module
 */
import { idSchema, SandbarError } from "@sandbar/shared";
import { createMiddleware } from "hono/factory";
import { decodeJwt, importJWK, jwtVerify } from "jose";
import type { AppEnv } from "../app-env.ts";
import type { Env } from "../env.ts";
import { ExpiringCache } from "../expiring-cache.ts";
import { fleetObject, sessionObject } from "../rpc.ts";

const KEY_MS = 30_000;
const PLACE_MS = 5_000;
/** Clocks of hosts may be off by so much. */
const TOLERANCE_S = 30;
const MAX_AGE_S = 120;

const HostId = idSchema("hst");
const SessionId = idSchema("ses");

export interface HostClaim {
  readonly host: string;
  readonly tenant: string;
  readonly session: string;
}

const keys = new ExpiringCache<string, CryptoKey>(1_000);
/** Proofs that were used, until they are too old anyway. */
const used = new ExpiringCache<string, true>(100_000);
const places = new ExpiringCache<string, true>(10_000);

/** Finds out which host calls, and for which session, or refuses. */
export const hostAuthenticated = createMiddleware<AppEnv>(async (c, next) => {
  c.set("host", await authenticateHost(c.env, c.req.raw));
  await next();
});

/** The claim that the request carries, proven; or a refusal that says no more than it must. */
async function authenticateHost(env: Env, request: Request): Promise<HostClaim> {
  const token = /^Bearer +([\w-]+\.[\w-]+\.[\w-]+)$/i.exec(request.headers.get("Authorization") ?? "")?.[1];
  if (!token) throw new SandbarError("UNAUTHENTICATED", "This path takes requests of hosts only");
  const claim = await verify(env, token, request).catch(() => null);
  if (!claim) throw new SandbarError("UNAUTHENTICATED", "The host's proof is not valid");
  await requirePlace(env, claim);
  return claim;
}

async function verify(env: Env, token: string, request: Request): Promise<HostClaim | null> {
  const host = decodeJwt(token).sub ?? "";
  if (!HostId.safeParse(host).success) return null;
  const key = await hostKey(env, host);
  if (!key) return null;
  const { payload } = await jwtVerify(token, key, {
    algorithms: ["EdDSA", "Ed25519"],
    subject: host,
    requiredClaims: ["exp", "iat", "jti"],
    maxTokenAge: MAX_AGE_S,
    clockTolerance: TOLERANCE_S,
  });
  const { tenant, session, htm, htu, jti } = payload;
  const { pathname, search } = new URL(request.url);
  // Made for this request: a proof that leaks in a log opens nothing else, and not this a second time.
  if (htm !== request.method || htu !== pathname + search) return null;
  if (typeof tenant !== "string" || !SessionId.safeParse(session).success) return null;
  const proof = `${host}/${jti}`;
  if (typeof jti !== "string" || used.get(proof)) return null;
  used.set(proof, true, (MAX_AGE_S + 2 * TOLERANCE_S) * 1000);
  return { host, tenant, session: session as string };
}

async function hostKey(env: Env, host: string): Promise<CryptoKey | null> {
  const known = keys.get(host);
  if (known) return known;
  const x = await fleetObject(env).publicKey(host);
  if (x === null) return null;
  const key = (await importJWK({ kty: "OKP", crv: "Ed25519", x }, "EdDSA")) as CryptoKey;
  keys.set(host, key, KEY_MS);
  return key;
}

async function requirePlace(env: Env, { host, tenant, session }: HostClaim): Promise<void> {
  const place = `${tenant}/${session}/${host}`;
  if (places.get(place)) return;
  const answer = await sessionObject(env, tenant, session).describe();
  if ("failure" in answer || answer.value.host_id !== host)
    throw new SandbarError("NOT_FOUND", "The session does not live on this host");
  // Also when it has ended: a host that was away for long still brings what it saved.
  places.set(place, true, PLACE_MS);
}

/**
 * Calls to Durable Objects. An object may be reset at any moment (deployment, eviction, machine fault) and then every
 * pending call rejects; since all our methods are idempotent, the call is simply made again on a fresh stub. What the
 * host is asked and must not do twice has a name, `once`, by which the daemon knows it again.
 *
 * @module
 */
import type { Cause } from "@sandbar/shared";
import type { Env } from "./env.ts";
import type { FleetObject } from "./fleet/object.ts";
import type { HostObject } from "./host/object.ts";
import type { SessionObject } from "./session/object.ts";
import type { SessionKeyObject } from "./session-key/object.ts";
import type { TenantObject } from "./tenant/object.ts";

const ATTEMPTS = 6;
const FIRST_PAUSE_MS = 20;
/** A call that lived this long made progress, so its failure starts a new count. */
const PROGRESS_MS = 5_000;

const RESET =
  /reset|network connection lost|broken\.|object .*(evicted|aborted)|shut ?down|internal error; reference/i;

export function isTransient(error: unknown): boolean {
  if (typeof error !== "object" || error === null) return false;
  const { retryable, overloaded, durableObjectReset, message } = error as {
    retryable?: boolean;
    overloaded?: boolean;
    durableObjectReset?: boolean;
    message?: string;
  };
  if (overloaded) return false;
  return retryable === true || durableObjectReset === true || RESET.test(message ?? "");
}

export async function retrying<T>(attempt: () => Promise<T>): Promise<T> {
  for (let failures = 0; ; ) {
    const begun = Date.now();
    try {
      return await attempt();
    } catch (error) {
      failures = Date.now() - begun > PROGRESS_MS ? 1 : failures + 1;
      if (!isTransient(error) || failures >= ATTEMPTS) throw error;
      const pause = FIRST_PAUSE_MS * 2 ** (failures - 1);
      await new Promise((resolve) => setTimeout(resolve, pause * (0.5 + Math.random())));
    }
  }
}

/** A stand-in for the object whose every method call is retried, each time on a stub of its own. */
export function remote<T extends object>(open: () => unknown): T {
  return new Proxy({} as T, {
    get(_, method) {
      // Awaiting the stand-in must not look like calling a method `then`.
      if (method === "then" || typeof method === "symbol") return undefined;
      return (...args: unknown[]) =>
        retrying(async () => {
          const stub = open() as Record<string, (...args: unknown[]) => Promise<unknown>>;
          return stub[method]!(...args);
        });
    },
  });
}

const FLEET_NAME = "fleet";

const sessionName = (tenant: string, session: string) => `${tenant}/${session}`;

export const sessionObject = (env: Env, tenant: string, session: string) =>
  remote<SessionObject>(() => env.SESSIONS.getByName(sessionName(tenant, session)));

/** The same object, which tells its host of which request a question is. */
export function askedFor<T extends Pick<SessionObject, "ask">>(session: T, cause: Cause): T {
  const ask: SessionObject["ask"] = (method, params, timeoutMs) =>
    session.ask(method, params, timeoutMs, cause);
  return new Proxy(session, {
    get: (object, name) => (name === "ask" ? ask : Reflect.get(object, name)),
  });
}

export const sessionKeyObject = (env: Env, tenant: string, keyDigest: string) =>
  remote<SessionKeyObject>(() => env.SESSION_KEYS.getByName(`${tenant}/${keyDigest}`));

export const hostObject = (env: Env, host: string) => remote<HostObject>(() => env.HOSTS.getByName(host));

export const fleetObject = (env: Env) => remote<FleetObject>(() => env.FLEET.getByName(FLEET_NAME));

export const tenantObject = (env: Env, tenant: string) =>
  remote<TenantObject>(() => env.TENANTS.getByName(tenant));

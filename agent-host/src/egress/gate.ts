/** @module Where a session's connections may go: the rules, then the addresses that the name has at this moment. */
import { isIP, type LookupFunction } from "node:net";
import type { SessionRules } from "@sandbar/shared";
import type { Reachable } from "./reachable.ts";
import { Refusal } from "./refusal.ts";
import type { Address, Resolve } from "./resolve.ts";
import { allows } from "./rules.ts";
import { secretsFor } from "./session-secrets.ts";
import { bare, shown, type Target } from "./target.ts";

export interface GateParts {
  readonly resolve: Resolve;
  readonly reachable: Pick<Reachable, "has">;
}

/** The host of a secret is allowed with that. */
export function isNamed({ allow, secrets }: SessionRules, target: Target): boolean {
  return allows(allow, target) || secretsFor(secrets, target).length > 0;
}

/** Throws a Refusal where the rules do not name the target. */
export function requireNamed(rules: SessionRules, target: Target): void {
  if (!isNamed(rules, target))
    throw new Refusal(403, `${shown(target)} is not among what this session's network may reach`);
}

/**
 * Addresses to connect to, each of them checked; whoever connects takes these and asks nobody again. A name with one
 * address that is not to be reached is refused whole: its owner means harm, or has made a mistake.
 */
export async function addressesOf({ resolve, reachable }: GateParts, { host }: Target): Promise<Address[]> {
  const literal = isIP(bare(host));
  const found = literal ? [{ address: bare(host), family: literal }] : await resolve(host).catch(() => []);
  if (found.length === 0) throw new Refusal(502, `the name ${host} was not found`);
  if (!found.every(({ address }) => reachable.has(address)))
    throw new Refusal(403, `${host} is at a private, link-local, loopback or reserved address`);
  return found;
}

/** For sockets: the addresses that were checked, whatever they ask for. */
export function pinned(addresses: readonly Address[]): LookupFunction {
  return (_host, options, done) => {
    if (options.all) done(null, [...addresses]);
    else done(null, addresses[0]!.address, addresses[0]!.family);
  };
}

/**
 * Keeps requests away from addresses that only this host can reach. Names are checked where they are resolved for the
 * connection itself, so a name that changes its address between two looks gains nothing.
 *
 * @module
 */
import { lookup as resolve } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { SandbarError, SPECIAL_V4, SPECIAL_V6 } from "@sandbar/shared";
import { blockList, contains } from "./address-ranges.ts";

const special = blockList([...SPECIAL_V4, ...SPECIAL_V6]);

export function isPublicAddress(address: string): boolean {
  return isIP(address) !== 0 && !contains(special, address);
}

/** For a URL whose host is an address: such a one is never looked up. */
export function requirePublicHost(url: URL): void {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0 && !isPublicAddress(host)) throw refused(host);
}

/** Resolves as usual and refuses a name when any of its addresses is internal. */
export const publicLookup: LookupFunction = (hostname, options, done) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return done(error, [] as never);
    if (addresses.length === 0 || !addresses.every(({ address }) => isPublicAddress(address)))
      return done(refused(hostname), [] as never);
    if (options.all) return done(null, addresses);
    done(null, addresses[0]!.address, addresses[0]!.family);
  });
};

function refused(host: string): SandbarError {
  return new SandbarError("SOURCE_NOT_ALLOWED", `${host} is at a private, link-local or loopback address`);
}

/**
 * Keeps requests away from addresses that only this host can reach. Names are checked where they are resolved for the
 * connection itself, so a name that changes its address between two looks gains nothing.
 *
 * @module
 */
import { lookup as resolve } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { SandbarError } from "@sandbar/shared";

const INTERNAL: readonly [string, number, "ipv4" | "ipv6"][] = [
  ["0.0.0.0", 8, "ipv4"],
  ["10.0.0.0", 8, "ipv4"],
  ["100.64.0.0", 10, "ipv4"],
  ["127.0.0.0", 8, "ipv4"],
  ["169.254.0.0", 16, "ipv4"],
  ["172.16.0.0", 12, "ipv4"],
  ["192.0.0.0", 24, "ipv4"],
  ["192.0.2.0", 24, "ipv4"],
  ["192.88.99.0", 24, "ipv4"],
  ["192.168.0.0", 16, "ipv4"],
  ["198.18.0.0", 15, "ipv4"],
  ["198.51.100.0", 24, "ipv4"],
  ["203.0.113.0", 24, "ipv4"],
  ["224.0.0.0", 3, "ipv4"],
  ["::", 96, "ipv6"],
  // Prefixes that carry an IPv4 address: a translator on the way would deliver to it.
  ["64:ff9b::", 96, "ipv6"],
  ["64:ff9b:1::", 48, "ipv6"],
  ["100::", 64, "ipv6"],
  ["2001::", 23, "ipv6"],
  ["2001:db8::", 32, "ipv6"],
  ["2002::", 16, "ipv6"],
  ["fc00::", 7, "ipv6"],
  ["fe80::", 9, "ipv6"],
  ["ff00::", 8, "ipv6"],
];

const internal = new BlockList();
for (const [net, prefix, family] of INTERNAL) internal.addSubnet(net, prefix, family);

export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  // BlockList compares an IPv4-mapped IPv6 address with the IPv4 rules by itself.
  return family !== 0 && !internal.check(address, family === 4 ? "ipv4" : "ipv6");
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

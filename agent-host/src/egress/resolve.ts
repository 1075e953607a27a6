/**
 * Names to addresses, by this machine's name servers or by those that the operator names. Never by getaddrinfo: each of
 * its questions holds one of the few threads that all files of the daemon are read with.
 *
 * @module
 */
import { promises as dns } from "node:dns";
import { readFile } from "node:fs/promises";
import { isIP } from "node:net";

export interface Address {
  readonly address: string;
  readonly family: number;
}

/** Throws when there is none. */
export type Resolve = (host: string) => Promise<Address[]>;

const TRIES = 2;
const TIMEOUT_MS = 3_000;
const HOSTS = "/etc/hosts";

export function resolver(servers: readonly string[], hosts = HOSTS): Resolve {
  if (servers.length > 0) {
    const named = made();
    named.setServers(servers);
    return (host) => asked(named, host);
  }
  return async (host) => {
    const known = addressesIn(await readFile(hosts, "utf8").catch(() => ""), host);
    // The machine's name servers may be others by now: a new one reads which.
    return known.length > 0 ? known : asked(made(), host);
  };
}

/** The machine's own table of names: an address, then names, then perhaps a comment in each line. */
export function addressesIn(table: string, host: string): Address[] {
  const wanted = host.toLowerCase();
  return table.split("\n").flatMap((line) => {
    const [address = "", ...names] = line.replace(/#.*/, "").trim().split(/\s+/);
    const family = isIP(address);
    return family && names.some((name) => name.toLowerCase() === wanted) ? [{ address, family }] : [];
  });
}

function made(): dns.Resolver {
  return new dns.Resolver({ tries: TRIES, timeout: TIMEOUT_MS });
}

async function asked(names: dns.Resolver, host: string): Promise<Address[]> {
  const both = await Promise.allSettled([names.resolve4(host), names.resolve6(host)]);
  const found = both.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
  if (found.length === 0)
    throw both.find((one) => one.status === "rejected")?.reason ?? new Error("no address");
  return found.map((address) => ({ address, family: isIP(address) }));
}

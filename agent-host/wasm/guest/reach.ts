/**
 * Which hosts code may reach from here. Names are judged where they are resolved for the connection, so one that changes between
 * two looks gains nothing.
 *
 * @module
 */
import { lookup as resolve } from "node:dns";
import { isIP, type LookupFunction } from "node:net";
import { Reach } from "../../src/io/reach.ts";

export class HostReach extends Reach {
  /** For a host that is an address, which is never looked up. */
  requireHost({ hostname }: URL): void {
    const host = hostname.replace(/^\[|\]$/g, "");
    if (isIP(host) !== 0 && !this.has(host)) throw refusal(host);
  }

  /** As usual, without the addresses that may not be reached. */
  readonly lookup: LookupFunction = (hostname, options, done) => {
    resolve(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, [] as never);
      const addresses = found.filter(({ address }) => this.has(address));
      if (addresses.length === 0) return done(refusal(hostname), [] as never);
      if (options.all) return done(null, addresses);
      done(null, addresses[0]!.address, addresses[0]!.family);
    });
  };
}

const refusal = (host: string) =>
  new Error(`${host} is at a private address, or another that sessions may not reach`);

/** @module Which addresses sessions may be connected to, whatever the name that led there. */
import { isIP } from "node:net";
import { networkInterfaces } from "node:os";
import { blockList, contains } from "./address-ranges.ts";

export interface Egress {
  /** Not the public internet. */
  readonly refused: readonly string[];
  /** Of those, what the operator opens. */
  readonly allowed: readonly string[];
  /** What nobody opens. */
  readonly never: readonly string[];
}

export class Reach {
  readonly #refused;
  readonly #allowed;
  readonly #never;
  /** Addresses that the operator has named one by one. */
  readonly #named;

  constructor({ refused, allowed, never }: Egress) {
    this.#refused = blockList(refused);
    this.#allowed = blockList(allowed);
    this.#never = blockList(never);
    this.#named = blockList(allowed.filter((range) => !range.includes("/")));
  }

  has(address: string): boolean {
    if (isIP(address) === 0 || contains(this.#never, address)) return false;
    if (contains(this.#named, address)) return true;
    // A range of neighbours is opened for them: the machine's own services in it are not meant.
    if (isThisMachine(address)) return false;
    return contains(this.#allowed, address) || !contains(this.#refused, address);
  }
}

const OWN = ["127.0.0.0/8", "::1", "0.0.0.0/8", "::"];

/** Whatever its network: from here no firewall would stand in between. */
function isThisMachine(address: string): boolean {
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  return contains(blockList([...OWN, ...all.map((one) => one.address.split("%")[0]!)]), address);
}

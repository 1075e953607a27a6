/** @module How many warm boxes a pool should have right now. */

/** Creations this close together are one burst, which a pool should be able to serve. */
const BURST_MS = 10_000;
/** After so many idle times even the configured boxes go. */
const DRAIN_AFTER = 6;
const REMEMBERED = 1000;

export interface PoolSize {
  /** By configuration. */
  readonly size: number;
  /** What demand may raise it to. */
  readonly max: number;
  readonly idleMs: number;
}

/** When sessions of one kind were asked for, newest last. */
export class Demand {
  #times: number[] = [];
  #since: number;

  constructor(now: number) {
    this.#since = now;
  }

  asked(now: number): void {
    this.#times.push(now);
    if (this.#times.length > REMEMBERED) this.#times.shift();
    this.#since = now;
  }

  target({ size, max, idleMs }: PoolSize, now: number): number {
    this.#times = this.#times.filter((time) => now - time < idleMs);
    if (now - this.#since >= idleMs * DRAIN_AFTER) return 0;
    return Math.max(size, Math.min(max, this.#largestBurst()));
  }

  #largestBurst(): number {
    let largest = 0;
    let first = 0;
    for (let last = 0; last < this.#times.length; last++) {
      while (this.#times[last]! - this.#times[first]! > BURST_MS) first++;
      largest = Math.max(largest, last - first + 1);
    }
    return largest;
  }
}

/**
 * Whose turn it is when hosts are full. Nobody is queued here: clients ask again. But who was refused a moment ago and
 * has less is served before who has more, so a tenant that asks faster does not take every place that becomes free.
 *
 * @module
 */
import { type Candidate, type Need, place } from "./placement.ts";

/** As long as clients may take to ask again, who are told to wait 5 s. */
const WAITS_MS = 15_000;
const LIMIT = 1_000;

export class Turns {
  readonly #waiting = new Map<string, { need: Need; until: number }>();

  /** There was no room for it. */
  refused(tenant: string, need: Need, now: number): void {
    this.#waiting.delete(tenant);
    if (this.#waiting.size >= LIMIT) this.#waiting.delete(this.#waiting.keys().next().value!);
    this.#waiting.set(tenant, { need, until: now + WAITS_MS });
  }

  served(tenant: string): void {
    this.#waiting.delete(tenant);
  }

  /** Whether a place on `host` is the last one for somebody who waits and has less than this tenant. */
  mustYield(
    tenant: string,
    { host, memory_mb }: { host: string; memory_mb: number },
    hosts: readonly Candidate[],
    sessionsOf: (tenant: string) => number,
    now: number,
  ): boolean {
    if (this.#waiting.size === 0) return false;
    const own = sessionsOf(tenant);
    const after = hosts.map((one) =>
      one.id === host
        ? { ...one, sessions: one.sessions + 1, reserved_mb: one.reserved_mb + memory_mb }
        : one,
    );
    for (const [other, { need, until }] of this.#waiting) {
      if (until <= now) this.#waiting.delete(other);
      else if (
        other !== tenant &&
        sessionsOf(other) < own &&
        "host" in place(hosts, need) &&
        !("host" in place(after, need))
      )
        return true;
    }
    return false;
  }
}

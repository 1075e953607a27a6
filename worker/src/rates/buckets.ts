/**
 * How often somebody may do something: so many within a minute, at once or spread, and then as many as the time gives
 * back (the generic cell rate algorithm, which keeps one time for each name).
 *
 * @module
 */
const MINUTE_MS = 60_000;

export interface Taken {
  readonly ok: boolean;
  /** How many could follow at once. */
  readonly left: number;
  /** Until there is one more. */
  readonly wait_s: number;
}

export class Buckets {
  /** When a name's bucket is full again. */
  readonly #full = new Map<string, number>();
  readonly #names: number;

  constructor(names: number) {
    this.#names = names;
  }

  /** Takes one if there is one. */
  take(name: string, perMinute: number, now: number): Taken {
    const seen = this.look(name, perMinute, now);
    if (!seen.ok) return seen;
    const full = Math.max(this.#full.get(name) ?? now, now) + MINUTE_MS / perMinute;
    if (!this.#full.has(name)) this.#makeRoom(now);
    this.#full.set(name, full);
    return { ok: true, left: seen.left - 1, wait_s: (full - now) / 1000 };
  }

  /** Whether there is one. */
  look(name: string, perMinute: number, now: number): Taken {
    const step = MINUTE_MS / perMinute;
    const debt = Math.max(0, (this.#full.get(name) ?? now) - now);
    // Times are sums of fractions.
    const left = Math.floor((MINUTE_MS - debt) / step + 1e-6);
    return { ok: left >= 1, left: Math.max(0, left), wait_s: Math.max(0, debt + step - MINUTE_MS) / 1000 };
  }

  /** Bounded: full ones are as if they were not here, and then the one that has been here longest goes. */
  #makeRoom(now: number): void {
    if (this.#full.size < this.#names) return;
    for (const [name, full] of this.#full) if (full <= now) this.#full.delete(name);
    if (this.#full.size >= this.#names) this.#full.delete(this.#full.keys().next().value!);
  }
}

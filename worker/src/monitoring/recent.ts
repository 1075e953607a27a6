/**
 * Something that takes work to find out, and is good for a while. Requests share what was found, not the looking: that
 * ends with the request that does it.
 *
 * @module
 */

export class Recent<T> {
  readonly #goodMs: number;
  #last: { readonly at: number; readonly value: T } | null = null;
  #lookingSince = Number.NEGATIVE_INFINITY;

  constructor(goodMs: number) {
    this.#goodMs = goodMs;
  }

  /** While somebody looks again, the others are told what was found before. */
  async get(find: () => Promise<T>, now = Date.now()): Promise<T> {
    const last = this.#last;
    if (last && (now - last.at < this.#goodMs || now - this.#lookingSince < this.#goodMs)) return last.value;
    this.#lookingSince = now;
    try {
      const value = await find();
      this.#last = { at: now, value };
      return value;
    } finally {
      this.#lookingSince = Number.NEGATIVE_INFINITY;
    }
  }
}

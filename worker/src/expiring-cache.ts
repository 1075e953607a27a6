/** @module A map whose entries expire and whose size is bounded: the oldest entry goes first. */

export class ExpiringCache<K, V> {
  readonly #entries = new Map<K, { value: V; until: number }>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get(key: K, now = Date.now()): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    if (entry.until > now) return entry.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: K, value: V, ttlMs: number, now = Date.now()): void {
    this.#entries.delete(key);
    if (this.#entries.size >= this.#limit) this.#entries.delete(this.#entries.keys().next().value as K);
    this.#entries.set(key, { value, until: now + ttlMs });
  }

  clear(): void {
    this.#entries.clear();
  }
}

/**
 * Puts numbered commands in order: each is handled once, early ones wait until the gap before them closes.
 *
 * @module
 */

/** Commands that may wait behind a gap; more than the server ever has in flight means that something is wrong. */
const WAITING_LIMIT = 10_000;

export type Placed<T> =
  | { kind: "ready"; items: { n: number; item: T }[] }
  | { kind: "seen" }
  | { kind: "waits" }
  | { kind: "overflow" };

export class CommandOrder<T> {
  #last: number;
  readonly #waiting = new Map<number, T>();

  constructor(last: number) {
    this.#last = last;
  }

  get last(): number {
    return this.#last;
  }

  /** True while something waits for an earlier command. */
  get gap(): boolean {
    return this.#waiting.size > 0;
  }

  place(n: number, item: T): Placed<T> {
    if (n <= this.#last) return { kind: "seen" };
    if (n > this.#last + 1) {
      if (this.#waiting.size >= WAITING_LIMIT) return { kind: "overflow" };
      this.#waiting.set(n, item);
      return { kind: "waits" };
    }
    const items = [{ n, item }];
    this.#last = n;
    for (let next = this.#waiting.get(n + 1); next !== undefined; next = this.#waiting.get(this.#last + 1)) {
      this.#last += 1;
      this.#waiting.delete(this.#last);
      items.push({ n: this.#last, item: next });
    }
    return { kind: "ready", items };
  }
}

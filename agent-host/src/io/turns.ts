/** @module Lets only so many work at a time; the others wait in order. */

export class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** An abort ends the wait, not the work. */
  async take<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    if (this.#free > 0) this.#free--;
    else await this.#turn(signal);
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }

  #turn(signal: AbortSignal | undefined): Promise<void> {
    return new Promise<void>((resolve, reject) => {
      const given = () => {
        signal?.removeEventListener("abort", left);
        resolve();
      };
      const left = () => {
        this.#waiting.splice(this.#waiting.indexOf(given), 1);
        reject(signal!.reason);
      };
      this.#waiting.push(given);
      signal?.addEventListener("abort", left, { once: true });
    });
  }
}

/** @module How long something that fails is tried again: with backoff, and only time with a link to the control plane counts. */
import { setTimeout as sleep } from "node:timers/promises";
import { backoffMs } from "../io/backoff.ts";
import { Unreachable } from "./signed-requests.ts";

export class Patience {
  #left: number;
  readonly #linked: () => boolean;
  readonly #signal: AbortSignal;

  constructor(ms: number, linked: () => boolean, signal: AbortSignal) {
    this.#left = ms;
    this.#linked = linked;
    this.#signal = signal;
  }

  /** Only what may never have arrived is tried again. All attempts draw on the same time. */
  async until<T>(attempt: () => Promise<T>): Promise<T> {
    for (let failures = 0; ; failures++) {
      const began = Date.now();
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof Unreachable) || this.#signal.aborted) throw error;
        this.#spend(Math.max(1, Date.now() - began));
        if (this.#left <= 0) throw error;
        const pause = backoffMs(Math.min(failures, 5));
        await sleep(pause, undefined, { signal: this.#signal });
        this.#spend(pause);
      }
    }
  }

  #spend(ms: number): void {
    // Without a link the outcome could not be told either.
    if (this.#linked()) this.#left -= ms;
  }
}

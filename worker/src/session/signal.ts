/** @module Wakes whoever waits in this object for something to be written. */

/** Of what happens to the session itself; an execution's topic is its id. */
export const SESSION_TOPIC = "session";

type Wake = (woken: boolean) => void;

export class Signal {
  readonly #waiting = new Map<string, Set<Wake>>();

  /** True when woken, false when the time is over. */
  wait(topic: string, timeoutMs?: number): Promise<boolean> {
    return new Promise((resolve) => {
      let waiting = this.#waiting.get(topic);
      if (!waiting) {
        waiting = new Set();
        this.#waiting.set(topic, waiting);
      }
      const wake: Wake = (woken) => {
        clearTimeout(timer);
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(topic) === waiting) this.#waiting.delete(topic);
        resolve(woken);
      };
      const timer = timeoutMs === undefined ? null : setTimeout(wake, timeoutMs, false);
      waiting.add(wake);
    });
  }

  wake(topic: string): void {
    for (const wake of [...(this.#waiting.get(topic) ?? [])]) wake(true);
  }
}

/** @module A few shells of a session, so that a long command does not hold up the next one. */

export class Shells {
  readonly #idle: string[];
  readonly #waiting: ((context: string) => void)[] = [];

  constructor(count: number) {
    // The first is used most: the others exist only when commands overlap.
    this.#idle = Array.from({ length: Math.max(1, count) }, (_, n) => `deepagents-${n + 1}`).reverse();
  }

  async use<T>(work: (context: string) => Promise<T>): Promise<T> {
    const context = this.#idle.pop() ?? (await new Promise<string>((resolve) => this.#waiting.push(resolve)));
    try {
      return await work(context);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(context);
      else this.#idle.push(context);
    }
  }
}

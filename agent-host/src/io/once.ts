/** @module What is asked for again, because the first answer was lost on its way, is done once and answered alike. */

/** Whoever asks again does so within moments. */
const REMEMBERED_MS = 60_000;

export class Once {
  readonly #known = new Map<string, Promise<unknown>>();

  do(name: string, work: () => Promise<unknown>): Promise<unknown> {
    const known = this.#known.get(name);
    if (known) return known;
    const done = work();
    this.#known.set(name, done);
    const forget = () => void setTimeout(() => this.#known.delete(name), REMEMBERED_MS).unref();
    done.then(forget, forget);
    return done;
  }
}

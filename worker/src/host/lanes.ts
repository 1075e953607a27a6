/**
 * Work in order per session, sessions beside each other. Two frames of one execution never overtake
 * each other, and a slow session holds up no other.
 *
 * @module
 */

export class Lanes {
  readonly #tails = new Map<string, Promise<void>>();
  readonly #limit: number;
  #pending = 0;

  /** `limit` counts characters of frames that wait. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get full(): boolean {
    return this.#pending > this.#limit;
  }

  run(lane: string, weight: number, work: () => Promise<void>): Promise<void> {
    this.#pending += weight;
    const tail = this.#tails.get(lane);
    const done = (tail ? tail.then(work, work) : work()).finally(() => {
      this.#pending -= weight;
      if (this.#tails.get(lane) === done) this.#tails.delete(lane);
    });
    this.#tails.set(lane, done);
    return done;
  }
}

/**
 * Acknowledges journaled commands. One frame speaks for every command up to its number, so acknowledgements wait a
 * little for each other: nobody waits for them, and the server's cost per frame is felt.
 *
 * @module
 */
const WAIT_MS = 25;

export class CommandAcks {
  readonly #send: (n: number) => void;
  #highest = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(send: (n: number) => void) {
    this.#send = send;
  }

  add(n: number): void {
    this.#highest = Math.max(this.#highest, n);
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.#send(this.#highest);
    }, WAIT_MS);
  }
}

/**
 * How often what comes is drawn: not for each token. What a journal has stored comes all at once, and is drawn when it
 * has come, so that a page that is opened in the middle does not play the answer again.
 *
 * @module
 */
const EVERY_MS = 40;
const MOST_CATCHING_UP_MS = 1_000;

export class Painter {
  readonly #paint: () => void;
  readonly #openedAt = Date.now();
  #catchingUp = true;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(paint: () => void) {
    this.#paint = paint;
  }

  /** There is something to draw. */
  touch(): void {
    if (this.#catchingUp && Date.now() - this.#openedAt < MOST_CATCHING_UP_MS) {
      if (this.#timer !== null) clearTimeout(this.#timer);
      this.#timer = null;
    }
    this.#timer ??= setTimeout(() => this.flush(), EVERY_MS);
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#catchingUp = false;
    this.#paint();
  }
}

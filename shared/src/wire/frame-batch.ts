/** @module Frames that leave at the same moment share a message, a line each: a message costs more than its bytes. */

/** A frame longer than this travels alone. */
const BATCH_LIMIT_CHARS = 256 * 1024;

export class FrameBatch {
  readonly #send: (message: string) => void;
  readonly #soon: (flush: () => void) => void;
  #frames: string[] = [];
  #chars = 0;

  /** `soon` calls what it is given when everything of the same moment has been added. */
  constructor(send: (message: string) => void, soon: (flush: () => void) => void) {
    this.#send = send;
    this.#soon = soon;
  }

  add(frame: string): void {
    if (this.#chars + frame.length > BATCH_LIMIT_CHARS) this.flush();
    if (this.#frames.length === 0) this.#soon(() => this.flush());
    this.#frames.push(frame);
    this.#chars += frame.length + 1;
  }

  flush(): void {
    if (this.#frames.length === 0) return;
    const message = this.#frames.join("\n");
    this.clear();
    this.#send(message);
  }

  clear(): void {
    this.#frames = [];
    this.#chars = 0;
  }
}

/** JSON has no line ends of its own. */
export const framesOf = (message: string): string[] => message.split("\n");

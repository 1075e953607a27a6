/** @module Tells what a terminal shows again from what it shows for the first time. */

const GAP_MS = 150;
const LONGEST_MS = 2000;

/**
 * After attaching, kept output comes in one go. Questions in it ("what terminal are you?") have been answered long ago:
 * a second answer would arrive at the shell as if somebody had typed it.
 */
export class Replay {
  #openedAt: number;
  #lastAt: number;
  #over = false;

  constructor(now: number) {
    this.#openedAt = now;
    this.#lastAt = now;
  }

  /** Asked for each piece of output as it comes. */
  takes(now: number): boolean {
    if (now - this.#lastAt > GAP_MS || now - this.#openedAt > LONGEST_MS) this.#over = true;
    this.#lastAt = now;
    return !this.#over;
  }
}

const REPORT = /^\x1b(\[[?>=]?[\d;]*(c|R|n|t|\$y)|\]|P)/;

/** Whether this is an answer of the terminal itself, and not something that was typed. */
export function isReport(data: string): boolean {
  return REPORT.test(data);
}

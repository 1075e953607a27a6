/** @module Tells a dead connection from a quiet one: a bare `ping` each interval, two without `pong` end the socket. */
import { HEARTBEAT_REQUEST } from "@sandbar/shared";

export class Heartbeat {
  readonly #timer: NodeJS.Timeout;
  #unanswered = 0;

  constructor(intervalMs: number, send: (text: string) => void, onSilence: () => void) {
    send(HEARTBEAT_REQUEST);
    this.#unanswered = 1;
    this.#timer = setInterval(() => {
      if (this.#unanswered >= 2) return onSilence();
      this.#unanswered += 1;
      send(HEARTBEAT_REQUEST);
    }, intervalMs);
  }

  answered(): void {
    this.#unanswered = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

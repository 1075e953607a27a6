/**
 * One request of a connection after another. Node reads all that a client has sent without waiting for answers, so a
 * bound on connections would bound nothing.
 *
 * @module
 */
import type { Socket } from "node:net";
import { Refusal } from "./refusal.ts";

export class Turns {
  readonly #taken = new WeakSet<Socket>();

  /** False when an earlier request of the connection has not been answered yet. */
  take(client: Socket): boolean {
    if (this.#taken.has(client)) return false;
    this.#taken.add(client);
    return true;
  }

  /** After an answer that lets the connection go on. */
  pass(client: Socket): void {
    this.#taken.delete(client);
  }
}

export const outOfTurn = () => new Refusal(503, "wait for the answer before you send the next request");

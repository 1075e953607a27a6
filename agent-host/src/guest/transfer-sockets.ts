/** @module Connections that a guest was asked to open, one for each transfer, waiting for whoever asked. */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import { type ErrorCode, SandbarError } from "@sandbar/shared";

const LIMIT = 32;
/** A guest works on a few transfers at a time; the others wait this long for their turn. */
export const TURN_MS = 60_000;

interface Expected {
  resolve(socket: Socket): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

export interface ExpectedSocket {
  readonly id: string;
  readonly socket: Promise<Socket>;
  cancel(): void;
}

/** The connection, unless the guest refuses first. */
export async function dialled(socket: Promise<Socket>, answer: Promise<unknown>): Promise<Socket> {
  answer.catch(() => {});
  return Promise.race([socket, answer.then(() => socket)]);
}

/** Neither end moved a byte for so long: whoever reads or writes has gone, or might as well have. */
export function endStalled(
  socket: Socket,
  ms: number,
  code: () => ErrorCode = () => "TRANSFER_FAILED",
): void {
  socket.setTimeout(ms, () => socket.destroy(new SandbarError(code(), `no byte moved for ${ms / 1000} s`)));
}

export class TransferSockets {
  readonly #limit: number;
  readonly #expected = new Map<string, Expected>();
  readonly #open = new Set<Socket>();

  constructor(limit = LIMIT) {
    this.#limit = limit;
  }

  /** Transfers that wait or run; for tests and for the log. */
  get size(): number {
    return this.#expected.size + this.#open.size;
  }

  /** For so long: a guest that has to wait for something first may take longer to dial. */
  expect(waitMs = TURN_MS): ExpectedSocket {
    if (this.size >= this.#limit)
      throw new SandbarError("RATE_LIMITED", `a session has ${this.#limit} transfers at once`);
    const id = randomBytes(16).toString("hex");
    const { promise, resolve, reject } = Promise.withResolvers<Socket>();
    // Whoever asked may have failed before it came to wait.
    promise.catch(() => {});
    const timer = setTimeout(() => {
      this.#expected.delete(id);
      reject(new SandbarError("HOST_TIMEOUT", "too many transfers run in this session"));
    }, waitMs);
    this.#expected.set(id, { resolve, reject, timer });
    return { id, socket: promise, cancel: () => this.#take(id)?.reject(new Error("cancelled")) };
  }

  /** What has not come when `use` ends is not expected any more. */
  async expecting<T>(use: (expected: ExpectedSocket) => Promise<T>, waitMs?: number): Promise<T> {
    const expected = this.expect(waitMs);
    try {
      return await use(expected);
    } finally {
      expected.cancel();
    }
  }

  /** False when nobody expects it. */
  attach(id: string, socket: Socket): boolean {
    const expected = this.#take(id);
    if (!expected) return false;
    this.#open.add(socket);
    socket.once("close", () => this.#open.delete(socket));
    expected.resolve(socket);
    return true;
  }

  failAll(reason: string): void {
    for (const id of [...this.#expected.keys()])
      this.#take(id)?.reject(new SandbarError("TRANSFER_FAILED", reason));
  }

  #take(id: string): Expected | undefined {
    const expected = this.#expected.get(id);
    if (expected) clearTimeout(expected.timer);
    this.#expected.delete(id);
    return expected;
  }
}

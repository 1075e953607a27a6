/** @module Questions to the daemon. They live in memory only: whoever asks must bear a failure. */
import { type Failure, newId, type ServerFrame } from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";

export const CALL_TIMEOUT_MS = 15_000;
/** Readers of processes and slow servers behind ports hold one each; a session can hold about a hundred. */
const PENDING_LIMIT = 10_000;

export class Calls {
  readonly #pending = new Map<string, (answer: Answer<unknown>) => void>();

  ask(
    send: (frame: ServerFrame) => boolean,
    question: { session: string; method: string; params: unknown },
    timeoutMs = CALL_TIMEOUT_MS,
  ): Promise<Answer<unknown>> {
    if (this.#pending.size >= PENDING_LIMIT)
      return Promise.resolve(
        refuse("RATE_LIMITED", "Too many questions wait for this host", { retry_after_s: 1 }),
      );
    const id = newId("req");
    if (!send({ t: "call", id, ...question }))
      return Promise.resolve(refuse("HOST_UNREACHABLE", undefined, { retry_after_s: 5 }));
    return new Promise((resolve) => {
      const settle = (answer: Answer<unknown>) => {
        clearTimeout(timer);
        this.#pending.delete(id);
        resolve(answer);
      };
      const timer = setTimeout(() => settle(refuse("HOST_TIMEOUT")), timeoutMs);
      this.#pending.set(id, settle);
    });
  }

  answer(id: string, result: unknown, failure: Failure | undefined): void {
    this.#pending.get(id)?.(failure ? { failure } : ok(result ?? null));
  }

  failAll(): void {
    for (const settle of [...this.#pending.values()])
      settle(refuse("HOST_UNREACHABLE", "The host's connection was cut", { retry_after_s: 1 }));
  }
}

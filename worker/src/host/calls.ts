/** @module Questions to the daemon. They live in memory only: whoever asks must bear a failure. */
import {
  type Cause,
  type Failure,
  HOST_CALLS,
  type HostMethod,
  type HostParams,
  type HostResult,
  newId,
  type ServerFrame,
} from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";

const CALL_TIMEOUT_MS = 15_000;
/** Readers of processes and slow servers behind ports hold one each; a session can hold about a hundred. */
const PENDING_LIMIT = 10_000;

export interface Question<M extends HostMethod> {
  /** Empty for what is asked of the host itself. */
  readonly session: string;
  readonly method: M;
  readonly params: HostParams<M>;
  readonly cause?: Cause;
}

export class Calls {
  /** False when there is nobody to send it to. */
  readonly #send: (frame: ServerFrame) => boolean;
  readonly #pending = new Map<string, (answer: Answer<unknown>) => void>();

  constructor(send: (frame: ServerFrame) => boolean) {
    this.#send = send;
  }

  async ask<M extends HostMethod>(question: Question<M>, timeoutMs?: number): Promise<Answer<HostResult<M>>> {
    const answer = await this.#answered(question, timeoutMs);
    return "failure" in answer ? answer : readResult(question, answer.value);
  }

  #answered(question: Question<HostMethod>, timeoutMs = CALL_TIMEOUT_MS): Promise<Answer<unknown>> {
    if (this.#pending.size >= PENDING_LIMIT)
      return Promise.resolve(
        refuse("RATE_LIMITED", "Too many questions wait for this host", { retry_after_s: 1 }),
      );
    const id = newId("req");
    if (!this.#send({ t: "call", id, ...question }))
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

/** A daemon may be of another version, or not be what it says: what it answers is believed once it was checked. */
function readResult<M extends HostMethod>(
  { method, cause }: Question<M>,
  result: unknown,
): Answer<HostResult<M>> {
  const parsed = HOST_CALLS[method].result.safeParse(result);
  if (parsed.success) return ok(parsed.data as HostResult<M>);
  const { path, message } = parsed.error.issues[0]!;
  console.error("the host's answer is not one of", method, path.join("."), message, cause?.request);
  return refuse("HOST_ERROR", `The host's answer to ${method} cannot be understood`);
}

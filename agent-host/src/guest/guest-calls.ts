/** @module Questions to a guest that may simply fail: bounded in number and time. */
import { randomUUID } from "node:crypto";
import {
  type DaemonMessage,
  type ErrorCode,
  ErrorCodeSchema,
  GUEST_ANSWERS,
  type GuestAnswer,
  type GuestMessage,
  type GuestMethod,
  SandbarError,
} from "@sandbar/shared";

const PENDING_LIMIT = 64;
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The guest's own words for what the error table has a better name for. */
const CODES: Record<string, ErrorCode> = { BUSY: "SESSION_NOT_READY", UNKNOWN_CONTEXT: "NOT_FOUND" };

/** What a guest answers may be anything, and as long as a line. */
function readAnswer<M extends GuestMethod>(method: M, answer: unknown): GuestAnswer<M> {
  const parsed = GUEST_ANSWERS[method].safeParse(answer);
  if (parsed.success) return parsed.data as GuestAnswer<M>;
  const { path, message } = parsed.error.issues[0]!;
  const where = path.length > 0 ? ` (${path.join(".")}: ${message})` : "";
  throw new SandbarError("HOST_ERROR", `the sandbox's answer cannot be understood${where}`);
}

type Answer = Extract<GuestMessage, { type: "answer" }>;

interface Pending {
  resolve(value: unknown): void;
  reject(error: Error): void;
  timer: NodeJS.Timeout;
}

export class GuestCalls {
  readonly #send: (message: DaemonMessage) => boolean;
  readonly #timeoutMs: number;
  readonly #pending = new Map<string, Pending>();

  constructor(send: (message: DaemonMessage) => boolean, timeoutMs: number) {
    this.#send = send;
    this.#timeoutMs = timeoutMs;
  }

  /** `timeoutMs` may be infinite, for what has other bounds. */
  async call<M extends GuestMethod>(
    method: M,
    params: Record<string, unknown>,
    timeoutMs?: number,
  ): Promise<GuestAnswer<M>> {
    return readAnswer(method, await this.#ask(method, params, timeoutMs));
  }

  #ask(method: string, params: Record<string, unknown>, timeoutMs = this.#timeoutMs): Promise<unknown> {
    if (this.#pending.size >= PENDING_LIMIT)
      return Promise.reject(new SandbarError("RATE_LIMITED", "too many questions to one session at once"));
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => {
          this.#pending.delete(id);
          reject(new SandbarError("HOST_TIMEOUT", `the sandbox did not answer within ${timeoutMs / 1000} s`));
        },
        Math.min(timeoutMs, LONGEST_TIMER_MS),
      );
      this.#pending.set(id, { resolve, reject, timer });
      if (!this.#send({ type: "call", id, method, params })) this.#fail(id, "the sandbox is not connected");
    });
  }

  onAnswer(answer: Answer): void {
    const pending = this.#take(answer.id);
    if (!pending) return;
    if (answer.error === undefined) {
      pending.resolve(answer.result);
      return;
    }
    const code = ErrorCodeSchema.safeParse(CODES[answer.code ?? ""] ?? answer.code);
    pending.reject(new SandbarError(code.success ? code.data : "HOST_ERROR", answer.error.slice(0, 2000)));
  }

  failAll(reason: string): void {
    for (const id of [...this.#pending.keys()]) this.#fail(id, reason);
  }

  #fail(id: string, reason: string): void {
    this.#take(id)?.reject(new SandbarError("HOST_ERROR", reason));
  }

  #take(id: string): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending) clearTimeout(pending.timer);
    this.#pending.delete(id);
    return pending;
  }
}

/** @module The control plane's questions: read once, and given to whoever answers them. */
import {
  type CallHandlers,
  failureOf,
  HOST_CALLS,
  type HostFrame,
  type HostMethod,
  isHostMethod,
  isSessionMethod,
  type MethodsOf,
  SandbarError,
  type ServerFrame,
  type SessionMethod,
} from "@sandbar/shared";
import { forRequest, type Log } from "../host/log.ts";
import { Once } from "../io/once.ts";
import type { SessionAccess } from "./session-access.ts";

type CallFrame = Extract<ServerFrame, { t: "call" }>;
type Handler = (...asked: unknown[]) => Promise<unknown>;

export interface HostCallsOptions {
  /** By its id, if this host has it. */
  readonly session: (id: string) => SessionAccess | undefined;
  readonly ofSession: CallHandlers<SessionMethod, [session: SessionAccess]>;
  readonly ofHost: CallHandlers<MethodsOf<"host" | "metrics" | "volumes" | "folders">, []>;
  readonly send: (frame: HostFrame) => void;
  readonly log: Log;
}

export class HostCalls {
  readonly #options: HostCallsOptions;
  readonly #once = new Once();

  constructor(options: HostCallsOptions) {
    this.#options = options;
  }

  async onCall(call: CallFrame): Promise<void> {
    const { id, session, method, cause } = call;
    const { send, log } = this.#options;
    try {
      send({ t: "answer", id, result: (await forRequest(cause?.request, () => this.#ask(call))) ?? null });
    } catch (error) {
      const failure = failureOf(error, "HOST_ERROR");
      // What was refused says why; anything else nobody could explain without this.
      if (!(error instanceof SandbarError))
        log.warn({ err: error, request: cause?.request, session, method }, "a question was not answered");
      send({ t: "answer", id, failure });
    }
  }

  async #ask({ session, method, params }: CallFrame): Promise<unknown> {
    if (!isHostMethod(method)) throw new SandbarError("HOST_ERROR", `this host does not know ${method}`);
    const given = readParams(method, params);
    const { ofHost, ofSession } = this.#options;
    if (!isSessionMethod(method)) return (ofHost[method] as Handler)(given);
    const found = this.#options.session(session);
    if (!found) throw new SandbarError("NOT_FOUND", "this host does not have the session");
    const answer = () => (ofSession[method] as Handler)(found, given);
    const once = "once" in given ? given.once : undefined;
    return once === undefined ? answer() : this.#once.do(`${session} ${once}`, answer);
  }
}

function readParams(method: HostMethod, params: unknown) {
  const parsed = HOST_CALLS[method].params.safeParse(params);
  if (parsed.success) return parsed.data;
  const { path, message } = parsed.error.issues[0]!;
  const where = path.length > 0 ? `${path.join(".")}: ${message}` : message;
  throw new SandbarError("HOST_ERROR", `this host cannot read the parameters of ${method} (${where})`);
}

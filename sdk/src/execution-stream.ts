/**
 * One execution as a stream of events. The code is sent with an idempotency key, so after a cut the stream finds the
 * same execution again and goes on after the last event it saw: it never starts the code twice and never skips output.
 *
 * @module
 */
import type { Artifact, CreateExecution, ExecutionError, MimeBundle } from "@sandbar/shared";
import { mayHaveArrived, networkError, SandbarError } from "./errors.ts";
import { type Execution, type ExecutionRecord, toExecution } from "./execution.ts";
import type { Http } from "./http.ts";
import { backoffMs, isTransient, retryDelayMs, sleep } from "./retry.ts";
import { type ServerEvent, serverEvents } from "./sse.ts";

export type ExecutionEvent =
  | { type: "started"; id: string }
  | { type: "stdout" | "stderr"; id: string; text: string }
  | { type: "result"; id: string; data: MimeBundle }
  | { type: "artifact"; id: string; artifact: Artifact }
  | { type: "error"; id: string; error: ExecutionError }
  | { type: "finished"; id: string; execution: Execution };

export interface StreamRequest {
  http: Http;
  sessionId: string;
  /** What to run, or null to follow an execution that exists. */
  request: CreateExecution | null;
  executionId?: string;
  idempotencyKey?: string;
  lastEventId?: string;
  /** An earlier request with this key got no answer. */
  maybeAccepted?: boolean;
  signal?: AbortSignal;
  /** How long reconnecting may go on without any news before the stream gives up. */
  giveUpAfterMs?: number;
}

const GIVE_UP_AFTER_MS = 120_000;
const INTERRUPT_PATIENCE_MS = 10_000;
export class ExecutionStream implements AsyncIterable<ExecutionEvent> {
  readonly #options: StreamRequest;
  readonly #path: string;
  readonly idempotencyKey: string;
  #executionId: string | undefined;
  #lastEventId: string | undefined;
  #maybeAccepted = false;
  #result: Execution | null = null;
  #leaving: AbortController | null = null;

  constructor(options: StreamRequest) {
    this.#options = options;
    this.#path = `/v1/sessions/${options.sessionId}/executions`;
    this.idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    this.#executionId = options.executionId;
    this.#lastEventId = options.lastEventId;
    this.#maybeAccepted = options.executionId !== undefined || options.maybeAccepted === true;
  }

  /** Known once the server has accepted the code. */
  get executionId(): string | undefined {
    return this.#executionId;
  }

  /** Pass it to `session.follow` to read on in another process. */
  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** Reads to the end and gives the finished execution. */
  async finished(onEvent?: (event: ExecutionEvent) => void): Promise<Execution> {
    for await (const event of this) onEvent?.(event);
    return this.#result!;
  }

  /** Ends the loop that reads, and its connection, also while it waits for an event. The code runs on. */
  leave(): void {
    this.#leaving?.abort();
  }

  /**
   * Events until `finished`. Leaving the loop early only stops reading: the code runs on, and a second loop reads on
   * after the last event. To stop the code, abort the signal.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<ExecutionEvent> {
    const { signal } = this.#options;
    const leaving = new AbortController();
    this.#leaving = leaving;
    let silentSince = Date.now();
    let attempt = 0;
    while (this.#result === null && !signal?.aborted) {
      const connection = new AbortController();
      const hangUpNow = () => connection.abort();
      leaving.signal.addEventListener("abort", hangUpNow, { once: true });
      const opening = this.#open(connection.signal);
      // Before the answer is there nobody knows which execution to interrupt, so an abort waits for it.
      const onAbort = () => {
        const late = setTimeout(() => connection.abort(), INTERRUPT_PATIENCE_MS);
        const hangUp = () => {
          clearTimeout(late);
          connection.abort();
        };
        opening.then(hangUp, hangUp);
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      try {
        for await (const event of serverEvents(await opening)) {
          silentSince = Date.now();
          attempt = 0;
          const parsed = this.#take(event);
          if (parsed) yield parsed;
        }
        if (this.#result === null) throw cutOff();
      } catch (error) {
        if (leaving.signal.aborted) return;
        if (signal?.aborted) break;
        const pause = this.#patience(error, attempt++, Date.now() - silentSince);
        await sleep(pause, AbortSignal.any([leaving.signal, ...(signal ? [signal] : [])])).catch(() => {});
        if (leaving.signal.aborted) return;
      } finally {
        signal?.removeEventListener("abort", onAbort);
        leaving.signal.removeEventListener("abort", hangUpNow);
      }
    }
    if (this.#result === null) throw await this.#abort();
  }

  /** One try. A POST that is repeated with its key joins the execution that the first one made. */
  async #open(signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const { http, request } = this.#options;
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.#lastEventId !== undefined) headers["last-event-id"] = this.#lastEventId;
    const response = this.#executionId
      ? await http.request("GET", `${this.#path}/${encodeURIComponent(this.#executionId)}/events`, {
          headers,
          signal,
          safe: false,
        })
      : await http.request("POST", this.#path, {
          json: request,
          headers: { ...headers, "idempotency-key": this.idempotencyKey },
          signal,
          safe: false,
        });
    this.#maybeAccepted = true;
    this.#executionId ??= executionIdOf(response);
    if (!response.body) throw cutOff();
    return response.body;
  }

  /** How long to wait after a failure; throws when waiting cannot help. */
  #patience(error: unknown, attempt: number, silentMs: number): number {
    const { retry } = this.#options.http;
    if (!(error instanceof SandbarError) || !isTransient(error)) throw error;
    if (mayHaveArrived(error)) this.#maybeAccepted = true;
    if (!this.#maybeAccepted) {
      const delay = retryDelayMs(error, attempt, retry);
      if (delay === null) throw error;
      return delay;
    }
    if (silentMs > (this.#options.giveUpAfterMs ?? GIVE_UP_AFTER_MS)) throw this.#lostSight(error);
    return error.retryAfterS === undefined ? backoffMs(attempt, retry) : error.retryAfterS * 1000;
  }

  #take({ id = "", event, data }: ServerEvent): ExecutionEvent | null {
    // An answer to a repeated POST may begin at the start again.
    if (this.#lastEventId !== undefined && Number(id) <= Number(this.#lastEventId)) return null;
    const value = JSON.parse(data);
    this.#lastEventId = id;
    switch (event) {
      case "started":
        return { type: "started", id };
      case "stdout":
      case "stderr":
        return { type: event, id, text: value.text };
      case "result":
        return { type: "result", id, data: value };
      case "artifact":
        return { type: "artifact", id, artifact: value };
      case "error":
        return { type: "error", id, error: value };
      case "finished":
        this.#result = toExecution(value);
        this.#executionId = this.#result.id;
        return { type: "finished", id, execution: this.#result };
      default:
        return null;
    }
  }

  /** Interrupts the code on the server. A loop that reads the stream goes on to its `finished`. */
  async interrupt(): Promise<void> {
    const { http, request } = this.#options;
    const signal = AbortSignal.timeout(INTERRUPT_PATIENCE_MS);
    if (this.#executionId === undefined && this.#maybeAccepted) {
      // The same key gives the id of the same execution.
      const headers = { "idempotency-key": this.idempotencyKey, prefer: "respond-async" };
      const options = { json: request, headers, signal, safe: true };
      this.#executionId = (await http.json<ExecutionRecord>("POST", this.#path, options)).id;
    }
    if (this.#executionId !== undefined)
      await http.send("POST", `${this.#path}/${encodeURIComponent(this.#executionId)}/interrupt`, {
        signal,
        safe: true,
      });
  }

  async #abort(): Promise<ExecutionAborted> {
    const reason: unknown = this.#options.signal?.reason;
    return this.interrupt().then(
      () => new ExecutionAborted(this.#executionId, reason),
      (failure) => new ExecutionAborted(this.#executionId, reason, failure),
    );
  }

  #lostSight(cause: SandbarError): SandbarError {
    return new SandbarError({
      code: "NETWORK_ERROR",
      detail: `lost sight of the execution: ${cause.message}`,
      hint: this.#executionId
        ? `It may still run. Look again with session.execution("${this.#executionId}").`
        : `It may have started. Run the same code with idempotencyKey "${this.idempotencyKey}" to find it.`,
      retryable: true,
      executionId: this.#executionId,
      cause,
    });
  }
}

/** The AbortError of an execution. `interrupted` is false when the server could not be told. */
export class ExecutionAborted extends Error {
  readonly executionId: string | undefined;
  readonly interrupted: boolean;
  constructor(executionId: string | undefined, reason: unknown, failure?: unknown) {
    const told = failure === undefined;
    super(
      told
        ? "The execution was aborted"
        : `The execution was aborted here, but could not be interrupted: ${(failure as Error).message}`,
      { cause: told ? reason : failure },
    );
    this.name = "AbortError";
    this.executionId = executionId;
    this.interrupted = told;
  }
}

function executionIdOf(response: Response): string | undefined {
  const location =
    response.headers.get("location") ?? response.headers.get("content-location") ?? response.url;
  return /\/executions\/([^/?#]+)/.exec(location)?.[1];
}

function cutOff(): SandbarError {
  return networkError(new Error("it ended before the execution did"), "the event stream was cut off");
}

/**
 * One run of the agent as a stream of events. A run goes on without its reader; after a cut the stream reads on behind
 * the last event that it saw, and it ends when the run has ended, not when a connection does.
 *
 * @module
 */
import { SandbarError } from "../errors.ts";
import type { Http } from "../http.ts";
import { backoffMs, isTransient, sleep } from "../retry.ts";
import { serverEvents } from "../sse.ts";
import { isRunOver, type RunEvent, type RunRecord } from "./shapes.ts";

export interface RunStreamOptions {
  /** The id of the last event that was seen. */
  lastEventId?: string;
  /** Stops reading; the run goes on. */
  signal?: AbortSignal;
  /** How long reconnecting may go on without any news before the stream gives up. */
  giveUpAfterMs?: number;
  /** What is read of what the run says; what a chat needs unless told. */
  modes?: readonly string[];
  /** Told when the connection is lost and tried again. */
  onReconnect?: (error: SandbarError) => void;
}

const GIVE_UP_AFTER_MS = 120_000;
/** What a chat needs. */
export const CHAT_MODES = ["messages-tuple", "updates", "custom"];

export class RunStream implements AsyncIterable<RunEvent> {
  readonly threadId: string;
  readonly runId: string;
  readonly #http: Http;
  readonly #options: RunStreamOptions;
  readonly #path: string;
  #lastEventId: string | undefined;
  #run: RunRecord | null = null;

  constructor(http: Http, threadId: string, runId: string, options: RunStreamOptions = {}) {
    this.#http = http;
    this.threadId = threadId;
    this.runId = runId;
    this.#options = options;
    this.#lastEventId = options.lastEventId;
    this.#path = `/langgraph/threads/${encodeURIComponent(threadId)}/runs/${encodeURIComponent(runId)}`;
  }

  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /** How the run ended, once the stream has. */
  get run(): RunRecord | null {
    return this.#run;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RunEvent> {
    const { signal } = this.#options;
    let silentSince = Date.now();
    for (let attempt = 0; this.#run === null; ) {
      try {
        for await (const { id = "", event, data } of serverEvents(await this.#open())) {
          silentSince = Date.now();
          attempt = 0;
          this.#lastEventId = id;
          yield { id, event, data: JSON.parse(data) };
        }
        // A proxy may end an answer politely in the middle.
        const run = await this.#http.json<RunRecord>("GET", this.#path, { signal });
        if (isRunOver(run)) this.#run = run;
      } catch (error) {
        signal?.throwIfAborted();
        const patience = this.#options.giveUpAfterMs ?? GIVE_UP_AFTER_MS;
        if (!(error instanceof SandbarError && isTransient(error))) throw error;
        if (Date.now() - silentSince > patience) throw error;
        this.#options.onReconnect?.(error);
        await sleep(backoffMs(attempt++, this.#http.retry), signal);
      }
    }
  }

  async #open(): Promise<ReadableStream<Uint8Array>> {
    const headers: Record<string, string> = { accept: "text/event-stream" };
    if (this.#lastEventId !== undefined) headers["last-event-id"] = this.#lastEventId;
    const { signal, modes: wanted = CHAT_MODES } = this.#options;
    const modes = wanted.map((mode) => `stream_mode=${mode}`).join("&");
    const response = await this.#http.request("GET", `${this.#path}/stream?${modes}`, {
      headers,
      signal,
      safe: false,
    });
    return response.body!;
  }

  /** Ends the model's answer and the code; the stream goes on to the run's end. */
  async cancel(): Promise<void> {
    await this.#http.send("POST", `${this.#path}/cancel`, { safe: true });
  }
}

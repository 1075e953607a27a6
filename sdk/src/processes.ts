/** @module Long-running commands and PTYs of a session. */
import type { CreateProcess, Process as ProcessRecord } from "@sandbar/shared";
import { networkError, SandbarError } from "./errors.ts";
import type { Body, Http } from "./http.ts";
import { backoffMs, isTransient, sleep } from "./retry.ts";
import { serverEvents } from "./sse.ts";

export type { ProcessRecord };

export type ProcessEvent =
  | { type: "stdout" | "stderr"; id: string; text: string }
  /** Older output was too much to keep. */
  | { type: "dropped"; id: string; count: number }
  | { type: "exit"; id: string; exit_code: number | null; signal: string | null; oom_killed: boolean };

const MAX_SILENT_ATTEMPTS = 8;

export class Processes {
  readonly #http: Http;
  readonly #path: string;

  constructor(http: Http, sessionId: string) {
    this.#http = http;
    this.#path = `/v1/sessions/${sessionId}/processes`;
  }

  async list(): Promise<Process[]> {
    const { data } = await this.#http.json<{ data: ProcessRecord[] }>("GET", this.#path);
    return data.map((info) => new Process(this.#http, this.#path, info));
  }

  /** Starts a shell command, or an argv that no shell sees. It runs until it ends, is killed, or the session ends. */
  async start(
    command: string | string[],
    options: Omit<CreateProcess, "command" | "argv"> & { idempotencyKey?: string } = {},
  ): Promise<Process> {
    const { idempotencyKey = crypto.randomUUID(), ...rest } = options;
    const info = await this.#http.json<ProcessRecord>("POST", this.#path, {
      json: { ...(typeof command === "string" ? { command } : { argv: command }), ...rest },
      headers: { "idempotency-key": idempotencyKey },
      safe: true,
    });
    return new Process(this.#http, this.#path, info);
  }

  async get(id: string): Promise<Process> {
    return new Process(
      this.#http,
      this.#path,
      await this.#http.json("GET", `${this.#path}/${encodeURIComponent(id)}`),
    );
  }
}

export class Process {
  readonly #http: Http;
  readonly #path: string;
  /** The record as last seen; `refresh` asks again. */
  info: ProcessRecord;

  constructor(http: Http, path: string, info: ProcessRecord) {
    this.#http = http;
    this.#path = `${path}/${info.id}`;
    this.info = info;
  }

  get id(): string {
    return this.info.id;
  }

  async refresh(): Promise<ProcessRecord> {
    this.info = await this.#http.json("GET", this.#path);
    return this.info;
  }

  /** Output from the oldest kept (or after `lastEventId`) to the one `exit`; goes on after a cut. */
  async *events(options: { lastEventId?: string; signal?: AbortSignal } = {}): AsyncGenerator<ProcessEvent> {
    const { signal } = options;
    let { lastEventId } = options;
    for (let attempt = 0; ; attempt++) {
      signal?.throwIfAborted();
      try {
        const headers = {
          accept: "text/event-stream",
          ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId }),
        };
        const response = await this.#http.request("GET", `${this.#path}/events`, { headers, signal });
        for await (const { id = "", event, data } of serverEvents(response.body!)) {
          attempt = 0;
          lastEventId = id;
          yield { type: event, id, ...JSON.parse(data) };
          if (event === "exit") return;
        }
        throw networkError(new Error("it ended before the process did"), "the event stream was cut off");
      } catch (error) {
        signal?.throwIfAborted();
        const hopeless = !(error instanceof SandbarError) || !isTransient(error);
        if (hopeless || attempt >= MAX_SILENT_ATTEMPTS) throw error;
      }
      await sleep(backoffMs(attempt, this.#http.retry), signal);
    }
  }

  /** Waits for the end. */
  async wait(options: { signal?: AbortSignal } = {}): Promise<ProcessRecord> {
    const lastEventId = String(this.info.last_event_id);
    if (this.info.status === "running") for await (const _ of this.events({ ...options, lastEventId }));
    return this.refresh();
  }

  async write(input: string | Uint8Array, options: { eof?: boolean } = {}): Promise<void> {
    await this.#http.send("POST", `${this.#path}/stdin`, {
      body: input as Body,
      query: { eof: options.eof },
      headers: { "content-type": "application/octet-stream" },
    });
  }

  /** Sends a signal, `SIGTERM` say, to the process's group. */
  signal(name: string): Promise<void> {
    return this.#http.send("POST", `${this.#path}/signal`, { json: { signal: name } });
  }

  async resize(cols: number, rows: number): Promise<void> {
    await this.#http.send("POST", `${this.#path}/resize`, { json: { cols, rows }, safe: true });
  }

  /** Ends it with everything that it started, and forgets its output. */
  kill(): Promise<void> {
    return this.#http.send("DELETE", this.#path);
  }
}

/** @module One sandbox session: run code in it, and reach everything it holds. */
import type {
  Completion,
  CreateExecution,
  Language,
  ListeningPort,
  NetworkRulesInput,
  NewSessionToken,
  OnBusy,
  Preview,
  SessionMetrics,
  SessionNetwork,
  Session as SessionRecord,
  SessionToken,
  TokenVerb,
} from "@sandbar/shared";
import { type Artifact, Artifacts, type ExportResult } from "./artifacts.ts";
import { Contexts } from "./contexts.ts";
import { Datasets } from "./datasets.ts";
import { mayHaveArrived, SandbarError } from "./errors.ts";
import { type Execution, type ExecutionRecord, toExecution } from "./execution.ts";
import { type ExecutionEvent, ExecutionStream } from "./execution-stream.ts";
import { Files } from "./files.ts";
import type { Http } from "./http.ts";
import { Listing } from "./listing.ts";
import { Processes } from "./processes.ts";
import { isTransient } from "./retry.ts";
import type { Snapshot } from "./snapshots.ts";
import { serverEvents } from "./sse.ts";
import { Terminal, type TerminalOptions } from "./terminal.ts";

export interface RunOptions {
  /** Ends the code on the server; the answer says `timeout`. Default: the session's limit. */
  timeoutS?: number;
  /** A context's name or id; each has variables of its own. */
  context?: string;
  language?: Language;
  env?: Record<string, string>;
  stdin?: string;
  /** Interrupts the code on the server, then rejects with an AbortError. */
  signal?: AbortSignal;
  /** Sent with the code so that it starts at most once, however often the request is repeated. Default: random. */
  idempotencyKey?: string;
  onStdout?: (text: string) => void;
  onStderr?: (text: string) => void;
  onResult?: (data: Record<string, unknown>) => void;
  onArtifact?: (artifact: Artifact) => void;
  onEvent?: (event: ExecutionEvent) => void;
}

export interface SnapshotOptions {
  name?: string;
  /** Default: 7 days. */
  ttlS?: number;
  /** When code runs: wait for its end (default), refuse, or copy the kernel's process where the language can. */
  onBusy?: OnBusy;
  signal?: AbortSignal;
  /** The same key finds the same snapshot. Default: random. */
  idempotencyKey?: string;
}

export interface ForkOptions extends Pick<SnapshotOptions, "onBusy" | "signal"> {
  labels?: Record<string, string>;
  idleTtlS?: number;
  maxLifetimeS?: number;
}

export interface TokenOptions {
  verbs: TokenVerb[];
  /** A minute to a day. Default: an hour. */
  ttlS?: number;
  /** Whom it is for. */
  label?: string;
  signal?: AbortSignal;
}

export interface SessionState {
  /** The first 500. */
  variables: { name: string; type: string; repr: string; size: number | null }[];
  /** How many variables there are. */
  total: number;
  imports: string[];
  cwd: string;
  [field: string]: unknown;
}

/** Longer runs are streamed: an idle connection may be cut on its way, and a stream is never idle. */
const LONGEST_PLAIN_WAIT_S = 60;

export class Session {
  readonly #http: Http;
  readonly #path: string;
  /** The record as last seen; `refresh` asks again. */
  info: SessionRecord;
  readonly files: Files;
  readonly artifacts: Artifacts;
  readonly datasets: Datasets;
  readonly contexts: Contexts;
  readonly processes: Processes;

  constructor(http: Http, info: SessionRecord) {
    this.#http = http;
    this.#path = `/v1/sessions/${info.id}`;
    this.info = info;
    this.files = new Files(http, info.id);
    this.artifacts = new Artifacts(http, info.id);
    this.datasets = new Datasets(http, info.id);
    this.contexts = new Contexts(http, info.id);
    this.processes = new Processes(http, info.id);
  }

  get id(): string {
    return this.info.id;
  }

  get key(): string {
    return this.info.key;
  }

  async refresh(): Promise<SessionRecord> {
    this.info = await this.#http.json("GET", this.#path);
    return this.info;
  }

  /** Runs code to its end. Code that fails is an answer, not an exception; `(await run(…)).ok()` throws. */
  async run(code: string, options: RunOptions = {}): Promise<Execution> {
    options.signal?.throwIfAborted();
    const idempotencyKey = options.idempotencyKey ?? crypto.randomUUID();
    let maybeAccepted = false;
    if (!this.#mustStream(options)) {
      try {
        const headers = { "idempotency-key": idempotencyKey };
        const json = toRequest(code, options);
        return toExecution(await this.#http.json("POST", `${this.#path}/executions`, { json, headers }));
      } catch (error) {
        if (!(error instanceof SandbarError) || !isTransient(error)) throw error;
        maybeAccepted = mayHaveArrived(error);
      }
    }
    return this.#stream(code, { ...options, idempotencyKey }, maybeAccepted).finished((event) => {
      options.onEvent?.(event);
      if (event.type === "stdout") options.onStdout?.(event.text);
      else if (event.type === "stderr") options.onStderr?.(event.text);
      else if (event.type === "result") options.onResult?.(event.data);
      else if (event.type === "artifact") options.onArtifact?.(event.artifact);
    });
  }

  /** Runs code and yields its events as they come; goes on by itself after a cut. */
  stream(code: string, options: RunOptions = {}): ExecutionStream {
    return this.#stream(code, options, false);
  }

  /** Runs a command in the session's shell, which keeps its directory and variables. */
  sh(command: string, options: Omit<RunOptions, "language"> = {}): Promise<Execution> {
    return this.run(command, { ...options, language: "bash" });
  }

  /** Starts code and returns at once; `follow` or `execution` tells how it goes on. */
  async start(code: string, options: RunOptions = {}): Promise<Execution> {
    const record = await this.#http.json<ExecutionRecord>("POST", `${this.#path}/executions`, {
      json: toRequest(code, options),
      headers: {
        "idempotency-key": options.idempotencyKey ?? crypto.randomUUID(),
        prefer: "respond-async",
      },
      signal: options.signal,
      safe: true,
    });
    return toExecution(record);
  }

  /** The events of an execution that exists, from the start or after `lastEventId`. */
  follow(executionId: string, options: { lastEventId?: string; signal?: AbortSignal } = {}): ExecutionStream {
    return new ExecutionStream({
      http: this.#http,
      sessionId: this.id,
      request: null,
      executionId,
      ...options,
    });
  }

  async execution(id: string): Promise<Execution> {
    return toExecution(await this.#http.json("GET", `${this.#path}/executions/${encodeURIComponent(id)}`));
  }

  executions(): Listing<ExecutionRecord> {
    return new Listing(this.#http, `${this.#path}/executions`);
  }

  interrupt(executionId: string): Promise<void> {
    return this.#http.send("POST", `${this.#path}/executions/${encodeURIComponent(executionId)}/interrupt`, {
      safe: true,
    });
  }

  /** Variables, imports and working directory of a context. */
  state(options: { context?: string } = {}): Promise<SessionState> {
    return this.#http.json("GET", `${this.#path}/state`, { query: { context: options.context } });
  }

  /** What it may reach by name, and what it has reached; of a session that was created with rules. */
  network(): Promise<SessionNetwork> {
    return this.#http.json("GET", `${this.#path}/network`);
  }

  /** Other rules instead: they hold when this resolves, and connections that they do not allow have ended. */
  setNetwork(rules: NetworkRulesInput): Promise<SessionNetwork> {
    return this.#http.json("PUT", `${this.#path}/network`, { json: rules });
  }

  /** CPU, memory, processes and disk of the last minutes, the last of them now; looking is not use. */
  metrics(): Promise<SessionMetrics> {
    return this.#http.json("GET", `${this.#path}/metrics`);
  }

  /**
   * What could stand at the cursor (default: the end of the code), as the context's kernel knows it. `busy` while the
   * context runs code. Positions are those of JavaScript's strings.
   */
  complete(
    code: string,
    options: { cursor?: number; context?: string; signal?: AbortSignal } = {},
  ): Promise<Completion> {
    const { cursor = code.length, context, signal } = options;
    return this.#http.json("POST", `${this.#path}/complete`, {
      json: { code, cursor, context },
      safe: true,
      signal,
    });
  }

  /** Keeps files of the session as artifacts: one result per file, in order. */
  async export(files: (string | { source: string; name?: string })[]): Promise<ExportResult[]> {
    const answer = await this.#http.json<{ data: ExportResult[] }>("POST", `${this.#path}/export`, {
      json: { files: files.map((file) => (typeof file === "string" ? { source: file } : file)) },
    });
    return answer.data;
  }

  /**
   * Keeps files and variables outside of the session, which goes on. The answer says of each variable what became of it;
   * `client.session({snapshot})` makes a session that begins with it.
   */
  snapshot(options: SnapshotOptions = {}): Promise<Snapshot> {
    const { name, ttlS: ttl_s, onBusy: on_busy, signal, idempotencyKey = crypto.randomUUID() } = options;
    return this.#http.json("POST", `${this.#path}/snapshots`, {
      json: { name, ttl_s, on_busy },
      headers: { "idempotency-key": idempotencyKey },
      signal,
      safe: true,
    });
  }

  snapshots(): Listing<Snapshot> {
    return new Listing(this.#http, `${this.#path}/snapshots`);
  }

  /** New sessions that begin with this one's files and variables: all of them, or none. */
  async fork(count = 1, options: ForkOptions = {}): Promise<Session[]> {
    const { onBusy: on_busy, labels, idleTtlS: idle_ttl_s, maxLifetimeS: max_lifetime_s, signal } = options;
    const { data } = await this.#http.json<{ data: SessionRecord[] }>("POST", `${this.#path}/fork`, {
      json: { count, on_busy, labels, idle_ttl_s, max_lifetime_s },
      signal,
    });
    return data.map((info) => new Session(this.#http, info));
  }

  /**
   * A token for a browser, an end user or an agent: with it as `apiKey` a client has this session and these verbs, and
   * nothing else of the tenant. `token` is in this answer and nowhere else.
   */
  createToken({ verbs, ttlS: ttl_s, label, signal }: TokenOptions): Promise<NewSessionToken> {
    return this.#http.json("POST", `${this.#path}/tokens`, { json: { verbs, ttl_s, label }, signal });
  }

  tokens(): Listing<SessionToken> {
    return new Listing(this.#http, `${this.#path}/tokens`);
  }

  /** Takes a token back, by its id: within 5 seconds it is worth nothing, and what it has open has ended. */
  removeToken(id: string): Promise<void> {
    return this.#http.send("DELETE", `${this.#path}/tokens/${encodeURIComponent(id)}`);
  }

  terminal(options: TerminalOptions = {}): Promise<Terminal> {
    return Terminal.open(this.#http, this.id, options);
  }

  /** Where something listens inside the session, with the process that does. */
  async ports(): Promise<ListeningPort[]> {
    const { data } = await this.#http.json<{ data: ListeningPort[] }>("GET", `${this.#path}/ports`);
    return data;
  }

  /** Where a server that listens inside the session answers; requests need the API key. */
  portUrl(port: number, path = "/"): string {
    return this.#http.resolve(`${this.#path}/ports/${port}/${path.replace(/^\//, "")}`);
  }

  /** A link that shows a port in a browser for an hour, to whoever has it. */
  preview(port: number): Promise<Preview> {
    return this.#http.json("POST", `${this.#path}/ports/${port}/preview`, { safe: true });
  }

  /** A request to a server inside the session; its answer comes back as it is. */
  fetchPort(port: number, path = "/", init: RequestInit = {}): Promise<Response> {
    return this.#http.fetch(this.portUrl(port, path), init);
  }

  /** What happens to the session: states, and progress while it is created. */
  async *events(options: { signal?: AbortSignal } = {}): AsyncGenerator<{ type: string; data: unknown }> {
    const response = await this.#http.request("GET", `${this.#path}/events`, {
      headers: { accept: "text/event-stream" },
      signal: options.signal,
    });
    if (!response.body) return;
    for await (const { event, data } of serverEvents(response.body))
      yield { type: event, data: JSON.parse(data) };
  }

  /**
   * Ends the session; artifacts stay. Stopping twice is harmless. `purge` also removes the folder that storage BIND leaves
   * on the host.
   */
  stop({ purge }: { purge?: boolean } = {}): Promise<void> {
    return this.#http.send("DELETE", this.#path, { query: { purge } });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #stream(code: string, options: RunOptions, maybeAccepted: boolean): ExecutionStream {
    return new ExecutionStream({
      http: this.#http,
      sessionId: this.id,
      request: toRequest(code, options),
      idempotencyKey: options.idempotencyKey,
      signal: options.signal,
      maybeAccepted,
    });
  }

  #mustStream(options: RunOptions): boolean {
    const { signal, onStdout, onStderr, onResult, onArtifact, onEvent } = options;
    if (signal || onStdout || onStderr || onResult || onArtifact || onEvent) return true;
    return (options.timeoutS ?? this.info.limits?.timeout_s ?? 0) > LONGEST_PLAIN_WAIT_S;
  }
}

function toRequest(code: string, options: RunOptions): CreateExecution {
  const { language, context, timeoutS: timeout_s, env, stdin } = options;
  return { code, language, context, timeout_s, env, stdin };
}

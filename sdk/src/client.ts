/** @module The client: sessions for agents, and what operators and admins need. */
import type {
  AllSessionMetrics,
  AuditEntry,
  ConsoleLink,
  CreateSession,
  EffectivePolicy,
  Language,
  Me,
  Restored,
  RunOnce,
  RunOnceAnswer,
  Session as SessionRecord,
  TenantEvent,
  UsageSeries,
} from "@sandbar/shared";
import { TOKEN_PREFIX } from "@sandbar/shared";
import { Artifacts } from "./artifacts.ts";
import { Threads } from "./chat/threads.ts";
import { configFromEnv, type Env } from "./config.ts";
import { SandbarError } from "./errors.ts";
import { type Execution, type ExecutionRecord, toExecution } from "./execution.ts";
import { Http, type HttpOptions } from "./http.ts";
import { Listing } from "./listing.ts";
import { DatasetSources, Hosts, Keys, Policies, type Usage, Volumes } from "./operator.ts";
import { Secrets } from "./secrets.ts";
import { Session } from "./session.ts";
import { AgentSettings } from "./settings.ts";
import { type Snapshot, Snapshots } from "./snapshots.ts";
import { type EventsOptions, tenantEvents } from "./tenant-events.ts";

/** `{url, apiKey}` or `{url, credentials: "cookie"}`, and optionally another fetch, another retry policy, more headers. */
export type SandbarOptions = HttpOptions;

/** The API's own names; `datasets` may be given by its access alone. */
export type SessionOptions = Omit<CreateSession, "datasets"> & {
  datasets?: CreateSession["datasets"] | "NONE" | "LOCAL_RO" | "API";
};

export interface RunOnceOptions
  extends Pick<
    CreateSession,
    "snapshot" | "runtime" | "engine" | "image" | "limits" | "network" | "dependencies" | "env"
  > {
  language?: Language;
  context?: string;
  stdin?: string;
  timeoutS?: number;
  /** Instead of `snapshot`: what an earlier answer gave. */
  bytes?: string;
  keep?: RunOnce["keep"];
  /** Of the snapshot that is kept. */
  ttlS?: number;
  signal?: AbortSignal;
}

export interface RunOnceResult {
  execution: Execution;
  /** What became of the variables of the snapshot that it began with. */
  restored: Restored | undefined;
  /** With `keep: "snapshot"`. */
  snapshot: Snapshot | undefined;
  /** With `keep: "bytes"`: in base64, sealed by the deployment that made them. */
  bytes: string | undefined;
  /** Why nothing was kept though `keep` asked for it; the code has run all the same. */
  keepError: RunOnceAnswer["keep_error"];
}

export interface SessionFilter {
  key?: string;
  status?: SessionRecord["status"];
  label?: string;
}

export interface AuditOptions {
  /** A whole action, or the beginning of some with a point at its end: `host.`. */
  action?: string;
  target?: string;
  /** The id of a key or a token. */
  by?: string;
  address?: string;
  /** `ok`, `refused`, or one code. */
  result?: string;
  since?: Date | string;
  until?: Date | string;
  /** Only this tenant's, for operators, who see all. */
  tenant?: string;
}

export interface SeriesOptions {
  /** Seconds of one point: 60, 3600 or 86400. */
  step?: 60 | 3600 | 86400;
  from?: Date | string;
  to?: Date | string;
  /** Another tenant's, for operators. */
  tenant?: string;
}

export class Sandbar {
  readonly http: Http;
  readonly artifacts: Artifacts;
  readonly hosts: Hosts;
  readonly keys: Keys;
  readonly policies: Policies;
  /** What sessions' network may refer to by name. */
  readonly secrets: Secrets;
  readonly datasetSources: DatasetSources;
  readonly volumes: Volumes;
  readonly snapshots: Snapshots;
  readonly settings: AgentSettings;
  readonly threads: Threads;

  constructor(options: SandbarOptions) {
    this.http = new Http(options);
    this.artifacts = new Artifacts(this.http);
    this.hosts = new Hosts(this.http);
    this.keys = new Keys(this.http);
    this.policies = new Policies(this.http);
    this.secrets = new Secrets(this.http);
    this.datasetSources = new DatasetSources(this.http);
    this.volumes = new Volumes(this.http);
    this.snapshots = new Snapshots(this.http);
    this.settings = new AgentSettings(this.http);
    this.threads = new Threads(this.http);
  }

  /** From SANDBAR_URL and SANDBAR_API_KEY. Runtimes without `process.env` (Workers) pass their own. */
  static fromEnv(env?: Env): Sandbar {
    return new Sandbar(configFromEnv(env));
  }

  get url(): string {
    return this.http.url;
  }

  /**
   * The session with this key, made if it does not exist; ready to run code. With `wait: false` it comes at once, and
   * `session.events()` tells how its making goes.
   */
  async session(
    options: SessionOptions = {},
    { signal, wait = true }: { signal?: AbortSignal; wait?: boolean } = {},
  ): Promise<Session> {
    const { datasets } = options;
    // A key of our own makes the request safe to repeat: it finds the session that the first try made.
    const key = options.key ?? `sdk-${crypto.randomUUID()}`;
    const json = {
      ...options,
      key,
      ...(typeof datasets === "string" ? { datasets: { access: datasets } } : {}),
    };
    const headers: Record<string, string> = wait ? {} : { prefer: "respond-async" };
    const request = { json, headers, signal, safe: true };
    return new Session(this.http, await this.http.json("POST", "/v1/sessions", request));
  }

  /**
   * Code in a session of its own that ends with it. It begins with a snapshot if one is given, by id or as `bytes` of an
   * earlier answer; `keep` asks for a new one: with `"bytes"` the caller holds all there is between two calls.
   */
  async runOnce(code: string, options: RunOnceOptions = {}): Promise<RunOnceResult> {
    const { signal, timeoutS: timeout_s, ttlS: ttl_s, bytes: snapshot_bytes, ...spec } = options;
    const json = { code, timeout_s, ttl_s, snapshot_bytes, ...spec };
    const answer = await this.http.json<RunOnceAnswer>("POST", "/v1/run", { json, signal });
    const { execution, restored, snapshot, snapshot_bytes: bytes, keep_error: keepError } = answer;
    return { execution: toExecution(execution as ExecutionRecord), restored, snapshot, bytes, keepError };
  }

  /** A session that exists, by id. */
  async getSession(id: string): Promise<Session> {
    return new Session(this.http, await this.http.json("GET", `/v1/sessions/${encodeURIComponent(id)}`));
  }

  /** Whether it was made with a session's token instead of an API key. */
  get hasToken(): boolean {
    return this.http.apiKey.startsWith(TOKEN_PREFIX);
  }

  /** The session of the token that this client was made with. */
  async attach(): Promise<Session> {
    const { token } = await this.me();
    if (!token)
      throw new SandbarError({
        code: "NOT_A_TOKEN",
        detail: "an API key is for no session of its own",
        hint: "Give the client a token of session.createToken(), or name the session: getSession(id).",
      });
    return this.getSession(token.session_id);
  }

  /** A session that exists and has not ended, by key; null when there is none. */
  async findSession(key: string): Promise<Session | null> {
    for await (const info of this.sessions({ key }))
      if (!["stopped", "lost", "failed"].includes(info.status)) return new Session(this.http, info);
    return null;
  }

  sessions(filter: SessionFilter = {}): Listing<SessionRecord> {
    return new Listing(this.http, "/v1/sessions", { ...filter });
  }

  /** Stops a session by id, or by key; one that is gone already is fine. `purge`: see `Session.stop`. */
  async stopSession(session: string | { key: string }, { purge }: { purge?: boolean } = {}): Promise<void> {
    if (typeof session !== "string") return (await this.findSession(session.key))?.stop({ purge });
    try {
      await this.http.send("DELETE", `/v1/sessions/${encodeURIComponent(session)}`, { query: { purge } });
    } catch (error) {
      if (!(error instanceof SandbarError && error.status === 404)) throw error;
    }
  }

  /** Who calls: tenant, key, scopes. */
  me(): Promise<Me> {
    return this.http.json("GET", "/v1/me");
  }

  /** What the caller's tenant may do, and how much it may have. */
  policy(): Promise<EffectivePolicy> {
    return this.http.json("GET", "/v1/policy");
  }

  /** A link that signs a browser in to the console, once, within 10 minutes. */
  consoleLink(): Promise<ConsoleLink> {
    return this.http.json("POST", "/v1/console/codes");
  }

  /** The caller's tenant, or for operators any. */
  usage(tenant?: string): Promise<Usage> {
    return this.http.json("GET", "/v1/usage", { query: { tenant } });
  }

  /** The same over time: executions, errors, latencies, artifacts, sessions. */
  usageSeries({ step, from, to, tenant }: SeriesOptions = {}): Promise<UsageSeries> {
    const query = { step, from: isoTime(from), to: isoTime(to), tenant };
    return this.http.json("GET", "/v1/usage/series", { query });
  }

  /** Who did what, newest first. */
  audit({ since, until, ...filter }: AuditOptions = {}): Listing<AuditEntry> {
    return new Listing(this.http, "/v1/audit", { ...filter, since: isoTime(since), until: isoTime(until) });
  }

  /** The newest samples of every running session; looking is not use. */
  sessionMetrics(): Promise<AllSessionMetrics> {
    return this.http.json("GET", "/v1/metrics/sessions");
  }

  /** What happens in the tenant from now on, or after `lastEventId`; goes on by itself after a cut. */
  events(options: EventsOptions = {}): AsyncGenerator<TenantEvent> {
    return tenantEvents(this.http, options);
  }

  health(): Promise<Record<string, unknown>> {
    return this.http.json("GET", "/healthz");
  }

  async metrics(): Promise<string> {
    return (await this.http.request("GET", "/metrics")).text();
  }
}

const isoTime = (time: Date | string | undefined) => (time instanceof Date ? time.toISOString() : time);

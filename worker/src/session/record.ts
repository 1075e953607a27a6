/** @module The session's own row, its contexts and its progress log. */
import {
  type Capability,
  type Cause,
  type Context,
  type CreateSession,
  ENGINES,
  type Failure,
  type Language,
  type Loss,
  type Restored,
  type Session,
  type SessionSpec,
  USUAL_ENGINE,
} from "@sandbar/shared";
import type { SealedValues } from "../network/secret-values.ts";
import { BIG_TEXT_SCHEMA, loadText, saveText } from "./big-text.ts";
import { expiresAt, hasEnded, type LifeState } from "./machine.ts";
import type { Carried } from "./network.ts";
import { networkOf } from "./spec.ts";

/** What a creation has to do next: written before it is done, so that an alarm can do it again. */
export type CreationStep = "hold" | "dispatch";

export interface SessionRecord {
  id: string;
  tenant: string;
  key: string;
  request: CreateSession;
  spec: SessionSpec;
  /** Values of its rules' secrets. */
  sealed_values?: SealedValues;
  labels: Record<string, string>;
  /** The key or token that made it; older ones do not say. */
  created_by?: string | null;
  /** The request that made it; older ones do not say. */
  cause?: Cause;
  restored?: Restored;
  state: LifeState;
  step: CreationStep;
  host_id: string;
  image: string | null;
  languages: Language[];
  /** As its host offered them; missing in records of before there was a second engine. */
  capabilities?: Capability[];
  created_at: number;
  stopping_at: number | null;
  ended_at: number | null;
  error: Failure | null;
  /** D1 has not yet heard of the last change. */
  dirty: boolean;
  /** The fleet has its reservation back. */
  released: boolean;
  /** The tenant's object has heard all of it. */
  told?: boolean;
  /** Bytes that its network has carried, as its tenant's object has heard of them. */
  carried?: Carried;
}

export interface Activity {
  last_used_at: number;
  executions: number;
  execution_ms: number;
  output_bytes: number;
}

export interface ContextRow {
  id: string;
  name: string;
  language: Language;
  created_at: number;
}

export interface LogEntry {
  position: number;
  event: "status" | "progress" | "context.lost" | "network";
  data: unknown;
}

const SCHEMA = [
  "CREATE TABLE session (one INTEGER PRIMARY KEY CHECK (one = 1), json TEXT)",
  // Written with every execution, so apart from the specification, which may be large.
  `CREATE TABLE activity (one INTEGER PRIMARY KEY CHECK (one = 1), last_used_at INTEGER NOT NULL,
     executions INTEGER NOT NULL, execution_ms INTEGER NOT NULL, output_bytes INTEGER NOT NULL,
     mirrored_executions INTEGER NOT NULL)`,
  `CREATE TABLE contexts (name TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, language TEXT NOT NULL,
     created_at INTEGER NOT NULL)`,
  // The newest entry is never deleted, so no position is given twice.
  "CREATE TABLE log (position INTEGER PRIMARY KEY, event TEXT NOT NULL, json TEXT NOT NULL)",
  BIG_TEXT_SCHEMA,
];

const LOG_LIMIT = 500;
const NETWORK_LOG_LIMIT = 100;

export class Records {
  readonly #sql: SqlStorage;
  session: SessionRecord | null = null;
  #activity: Activity = { last_used_at: 0, executions: 0, execution_ms: 0, output_bytes: 0 };
  #mirroredExecutions = 0;
  #contexts: ContextRow[] | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    // Merely asking an object that was never created must write nothing, so the tables come with `create`.
    if (
      sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'session'").toArray().length === 0
    )
      return;
    const row = sql.exec<{ json: string | null }>("SELECT json FROM session").toArray()[0];
    if (!row) return;
    this.session = JSON.parse(loadText(sql, "session", row.json));
    const { mirrored_executions, ...activity } = sql
      .exec<Activity & Record<string, number> & { mirrored_executions: number }>(
        "SELECT last_used_at, executions, execution_ms, output_bytes, mirrored_executions FROM activity",
      )
      .one();
    this.#activity = activity;
    this.#mirroredExecutions = mirrored_executions;
  }

  create(session: SessionRecord, moreSchema: readonly string[]): void {
    this.#sql.exec([...SCHEMA, ...moreSchema].join(";\n"));
    this.session = session;
    this.#sql.exec(
      "INSERT INTO session VALUES (1, ?)",
      saveText(this.#sql, "session", JSON.stringify(session)),
    );
    this.#activity.last_used_at = session.created_at;
    this.#sql.exec("INSERT INTO activity VALUES (1, ?, 0, 0, 0, 0)", session.created_at);
  }

  update(patch: Partial<SessionRecord>): SessionRecord {
    const session = { ...this.session!, ...patch };
    this.session = session;
    this.#sql.exec("UPDATE session SET json = ?", saveText(this.#sql, "session", JSON.stringify(session)));
    return session;
  }

  get activity(): Readonly<Activity> {
    return this.#activity;
  }

  /** Counts use that needs no write: the execution that was just accepted keeps the session from being idle. */
  use(now: number): void {
    this.#activity.last_used_at = now;
  }

  /** Counts use; with an execution that ended, also what it cost. */
  touch(now: number, ended?: { duration_ms: number; bytes: number }): void {
    this.#activity.last_used_at = now;
    if (ended) {
      this.#activity.executions++;
      this.#activity.execution_ms += Math.max(0, Math.round(ended.duration_ms));
      this.#activity.output_bytes += ended.bytes;
    }
    const { last_used_at, executions, execution_ms, output_bytes } = this.#activity;
    this.#sql.exec(
      "UPDATE activity SET last_used_at = ?, executions = ?, execution_ms = ?, output_bytes = ?",
      last_used_at,
      executions,
      execution_ms,
      output_bytes,
    );
  }

  /** D1 lags behind: a lifecycle change, or executions that it has not counted. */
  get unmirrored(): boolean {
    return this.session?.dirty === true || this.#mirroredExecutions !== this.#activity.executions;
  }

  mirrored(of: SessionRecord, executions: number): void {
    if (this.#mirroredExecutions !== executions) {
      this.#mirroredExecutions = executions;
      this.#sql.exec("UPDATE activity SET mirrored_executions = ?", executions);
    }
    // Only if nothing changed while D1 was being written.
    if (this.session !== of || !of.dirty) return;
    // One that is being created is written again before long; should it be forgotten, D1 hears the same twice.
    if (of.state === "creating") this.session = { ...of, dirty: false };
    else this.update({ dirty: false });
  }

  contexts(): ContextRow[] {
    this.#contexts ??= this.#sql
      .exec("SELECT id, name, language, created_at FROM contexts ORDER BY created_at, id")
      .toArray() as unknown as ContextRow[];
    return this.#contexts;
  }

  context(reference: string): ContextRow | null {
    return this.contexts().find(({ name, id }) => name === reference || id === reference) ?? null;
  }

  addContext(context: ContextRow): void {
    const { name, id, language, created_at } = context;
    this.#sql.exec("INSERT INTO contexts VALUES (?, ?, ?, ?)", name, id, language, created_at);
    this.#contexts = null;
  }

  removeContext(id: string): void {
    this.#sql.exec("DELETE FROM contexts WHERE id = ?", id);
    this.#contexts = null;
  }

  log(event: LogEntry["event"], data: unknown): void {
    const json = JSON.stringify(data);
    const { position } = this.#sql
      .exec<{ position: number }>(
        "INSERT INTO log (event, json) VALUES (?, ?) RETURNING position",
        event,
        json,
      )
      .one();
    // What a session connects to must not push its states out.
    if (event === "network")
      this.#sql.exec(
        `DELETE FROM log WHERE event = 'network' AND position <=
           (SELECT position FROM log WHERE event = 'network' ORDER BY position DESC LIMIT 1 OFFSET ?)`,
        NETWORK_LOG_LIMIT,
      );
    if (position > LOG_LIMIT) this.#sql.exec("DELETE FROM log WHERE position <= ?", position - LOG_LIMIT);
  }

  /** False when the very same has been said before: what is stated may be stated again. */
  logOnce(event: LogEntry["event"], data: unknown): boolean {
    const json = JSON.stringify(data);
    const known = this.#sql.exec("SELECT 1 FROM log WHERE event = ? AND json = ?", event, json).toArray();
    if (known.length === 0) this.log(event, data);
    return known.length === 0;
  }

  /** When and why a context last lost its variables while no code ran. */
  lastLoss({ name, created_at }: ContextRow): Context["lost"] {
    const losses = this.#sql
      .exec<{ json: string }>("SELECT json FROM log WHERE event = 'context.lost' ORDER BY position DESC")
      .toArray()
      .map(({ json }) => JSON.parse(json) as Loss);
    const last = losses.find(({ context }) => context === name);
    return last && Date.parse(last.at) >= created_at ? { at: last.at, reason: last.reason } : null;
  }

  lastPosition(): number {
    return this.#sql.exec<{ last: number | null }>("SELECT max(position) AS last FROM log").one().last ?? 0;
  }

  logAfter(position: number): LogEntry[] {
    return this.#sql
      .exec<{ position: number; event: LogEntry["event"]; json: string }>(
        "SELECT position, event, json FROM log WHERE position > ? ORDER BY position LIMIT 100",
        position,
      )
      .toArray()
      .map((row) => ({ position: row.position, event: row.event, data: JSON.parse(row.json) }));
  }
}

export function describe(session: SessionRecord, activity: Readonly<Activity>, busy: boolean): Session {
  const { spec } = session;
  const last_used_at = activity.last_used_at;
  return {
    id: session.id,
    key: session.key,
    runtime: spec.runtime,
    ...abilities(spec, session),
    image: session.image ?? spec.image,
    status: session.state === "ready" && busy ? "busy" : session.state,
    host_id: session.host_id,
    storage: spec.storage,
    datasets: { access: spec.dataset_access },
    network: networkOf(spec),
    limits: spec.limits,
    dependencies: spec.dependencies,
    labels: session.labels,
    created_by: session.created_by ?? null,
    created_at: new Date(session.created_at).toISOString(),
    last_used_at: new Date(last_used_at).toISOString(),
    expires_at: hasEnded(session.state)
      ? null
      : new Date(expiresAt({ ...spec, created_at: session.created_at, last_used_at })).toISOString(),
    ...(session.restored ? { restored: session.restored } : {}),
    ...(session.error ? { error: session.error } : {}),
  };
}

/** With what and how well a session runs, also as D1 keeps it. */
export function abilities(
  { engine = USUAL_ENGINE }: Pick<SessionSpec, "engine">,
  { languages, capabilities }: { languages?: Language[]; capabilities?: Capability[] },
): Pick<Session, "engine" | "languages" | "capabilities"> {
  return {
    engine,
    languages: languages ?? [],
    capabilities: capabilities ?? [...ENGINES[engine].capabilities],
  };
}

/** @module The runs of a thread: records, and which one is next. */
import type { RunRequest } from "../api/shapes.ts";

export type RunStatus = "pending" | "running" | "error" | "success" | "timeout" | "interrupted";
export type Strategy = "reject" | "interrupt" | "rollback" | "enqueue";

export interface Run {
  readonly run_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly status: RunStatus;
  readonly request: RunRequest;
  readonly metadata: Record<string, unknown>;
  readonly strategy: Strategy;
  readonly key_id: string;
  readonly origin: string;
  /** How often it was begun: more than once after a crash. */
  readonly attempts: number;
  readonly cancel: "interrupt" | "rollback" | null;
  readonly error: { error: string; message: string } | null;
}

export const isOver = ({ status }: Pick<Run, "status">) => status !== "pending" && status !== "running";

const dueAt = ({ created_at, request }: Run) => Date.parse(created_at) + (request.after_seconds ?? 0) * 1000;

type Row = Record<string, string | number | null>;

const read = (row: Row): Run =>
  ({
    ...row,
    request: JSON.parse(String(row.request)),
    metadata: JSON.parse(String(row.metadata)),
    error: row.error === null ? null : JSON.parse(String(row.error)),
  }) as unknown as Run;

export class Runs {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(run: Omit<Run, "created_at" | "updated_at" | "status" | "attempts" | "cancel" | "error">): Run {
    const now = new Date().toISOString();
    const { run_id, request, metadata, strategy, key_id, origin } = run;
    this.#sql.exec(
      `INSERT INTO runs (run_id, created_at, updated_at, status, request, metadata, strategy, key_id, origin)
       VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, ?)`,
      ...[run_id, now, now, JSON.stringify(request), JSON.stringify(metadata), strategy, key_id, origin],
    );
    return this.find(run_id)!;
  }

  find(run_id: string): Run | null {
    const [row] = this.#sql.exec<Row>("SELECT * FROM runs WHERE run_id = ?", run_id).toArray();
    return row ? read(row) : null;
  }

  /** Newest first. */
  list({ limit, offset, status }: { limit: number; offset: number; status?: RunStatus }): Run[] {
    return this.#sql
      .exec<Row>(
        `SELECT * FROM runs WHERE ?1 IS NULL OR status = ?1 ORDER BY number DESC LIMIT ?2 OFFSET ?3`,
        ...[status ?? null, limit, offset],
      )
      .toArray()
      .map(read);
  }

  /** Oldest first: what is running, then what waits for its turn. What waits for its time is not among them. */
  unfinished(): Run[] {
    return this.all().filter(({ request }) => request.after_seconds === undefined);
  }

  /** All that have not ended. */
  all(): Run[] {
    return this.#sql
      .exec<Row>("SELECT * FROM runs WHERE status IN ('pending', 'running') ORDER BY number")
      .toArray()
      .map(read);
  }

  /** When the time of the next one comes that waits for its time. */
  nextDue(): number | null {
    const times = this.#delayed().map(dueAt);
    return times.length === 0 ? null : Math.min(...times);
  }

  /** Those whose time has come join the queue at its end; so do those that are cancelled, to be ended in their turn. */
  queueDue(now = Date.now()): void {
    for (const run of this.#delayed())
      if (run.cancel !== null || dueAt(run) <= now)
        this.#sql.exec(
          `UPDATE runs SET number = (SELECT max(number) + 1 FROM runs), request = json_remove(request, '$.after_seconds')
           WHERE run_id = ?`,
          run.run_id,
        );
  }

  #delayed(): Run[] {
    return this.all().filter(({ request }) => request.after_seconds !== undefined);
  }

  latest(): Run | null {
    return this.list({ limit: 1, offset: 0 })[0] ?? null;
  }

  begin(run_id: string): void {
    this.#change(run_id, "status = 'running', attempts = attempts + 1", []);
  }

  cancel(run_id: string, action: "interrupt" | "rollback"): void {
    this.#change(run_id, "cancel = ?", [action]);
  }

  end(run_id: string, status: RunStatus, error: Run["error"] = null): void {
    this.#change(run_id, "status = ?, error = ?", [status, error && JSON.stringify(error)]);
  }

  remove(run_id: string): void {
    this.#sql.exec("DELETE FROM runs WHERE run_id = ?", run_id);
  }

  #change(run_id: string, set: string, values: (string | null)[]): void {
    const now = new Date().toISOString();
    this.#sql.exec(`UPDATE runs SET updated_at = ?, ${set} WHERE run_id = ?`, now, ...values, run_id);
  }
}

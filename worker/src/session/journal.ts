/**
 * The execution journal: what was asked, what the kernel said, how it ended. All statements of one step run
 * without an await between them, so the runtime commits them together.
 *
 * @module
 */
import type { CreateExecution, Execution, KernelEvent, Language } from "@sandbar/shared";
import { isBig, loadText, saveText } from "./big-text.ts";
import type { CausedExecution } from "./envelope.ts";

/** `sent`: handed to the host, or about to be; from here on the code may have started. */
export type JournalState = "queued" | "sent" | "done";

export interface ExecutionRow {
  id: string;
  ordinal: number;
  context: string;
  language: Language;
  state: JournalState;
  digest: string;
  queued_at: number;
  started_at: number | null;
  /** The guest's number of the last event in the log. */
  last_seq: number;
  /** The log's own number, which readers see as the event's id. */
  position: number;
  event_bytes: number;
  created_by: string | null;
}

type NewRow = Pick<
  ExecutionRow,
  "id" | "context" | "language" | "state" | "digest" | "queued_at" | "created_by"
>;

/** A terminal record. */
export interface StoredRecord {
  readonly json: string;
  /** How many it names. */
  readonly artifacts: number;
}

export interface EventBatch {
  readonly first: number;
  readonly last: number;
  readonly events: KernelEvent[];
}

export const JOURNAL_SCHEMA = [
  // Every page that a cell changes is written twice and waited for, so there are no more indices than questions.
  `CREATE TABLE executions (ordinal INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, context TEXT NOT NULL,
     language TEXT NOT NULL, state TEXT NOT NULL, idempotency_key TEXT, digest TEXT NOT NULL,
     queued_at INTEGER NOT NULL, started_at INTEGER, last_seq INTEGER NOT NULL DEFAULT 0,
     position INTEGER NOT NULL DEFAULT 0, event_bytes INTEGER NOT NULL DEFAULT 0, request TEXT, record TEXT,
     created_by TEXT)`,
  "CREATE UNIQUE INDEX idempotency_keys ON executions (idempotency_key) WHERE idempotency_key IS NOT NULL",
  "CREATE INDEX open_executions ON executions (ordinal) WHERE state != 'done'",
  `CREATE TABLE events (execution TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, json TEXT,
     PRIMARY KEY (execution, first)) WITHOUT ROWID`,
];

const UNTOUCHED = { started_at: null, last_seq: 0, position: 0, event_bytes: 0 };
const COLUMNS =
  "id, ordinal, context, language, state, digest, queued_at, started_at, last_seq, position, event_bytes, created_by";

/** Shorter code stays with its record, for whoever reads what was run; erasing it would be one more write. */
const KEEP_REQUEST_CHARS = 32 * 1024;
/** Larger requests rest in the database while they wait. */
const HOLD_CHARS = 64 * 1024;
const RECENT_RECORDS = 64;
const RECENT_RECORD_CHARS = 64 * 1024;

/**
 * What has not ended is also held in memory, and so are the newest records: a read outside a
 * transaction costs as much as a write, and the path of a trivial cell needs none.
 */
export class Journal {
  readonly #sql: SqlStorage;
  readonly #recent = new Map<string, StoredRecord>();
  /** Requests that wait and are in memory only. */
  readonly #held = new Map<string, string>();
  #openRows: Map<string, ExecutionRow> | null = null;
  #lastOrdinal: number | null = null;
  /** Of what has ended, the oldest first; after a reset also some that were deleted already. */
  #logs: { id: string; length: number }[] | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** False when the id or the idempotency key is taken; then nothing was written. */
  insert(row: NewRow, idempotencyKey: string | null, request: CausedExecution): boolean {
    return this.#write(row, idempotencyKey, JSON.stringify(request));
  }

  /**
   * For a caller that waits with the execution: nothing is written until it is its turn, and then together with the
   * end of the one before it. Should the object be reset until then, nothing has begun and the call is made again.
   */
  hold(row: NewRow, request: CausedExecution): boolean {
    const json = JSON.stringify(request);
    if (json.length > HOLD_CHARS) return this.#write(row, null, json);
    if (this.#open().has(row.id)) return false;
    this.#held.set(row.id, json);
    this.#open().set(row.id, { ...row, ...UNTOUCHED, ordinal: Number.MAX_SAFE_INTEGER });
    return true;
  }

  #write(row: NewRow, idempotencyKey: string | null, json: string): boolean {
    const open = this.#open();
    const inserted = this.#sql
      .exec<{ ordinal: number }>(
        `INSERT INTO executions (id, context, language, state, idempotency_key, digest, queued_at, request, created_by)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING RETURNING ordinal`,
        row.id,
        row.context,
        row.language,
        row.state,
        idempotencyKey,
        row.digest,
        row.queued_at,
        isBig(json) ? null : json,
        row.created_by,
      )
      .toArray()[0];
    if (!inserted) return false;
    if (isBig(json)) saveText(this.#sql, `${row.id}/request`, json);
    this.#lastOrdinal = inserted.ordinal;
    open.set(row.id, { ...row, ...UNTOUCHED, ordinal: inserted.ordinal });
    return true;
  }

  /** Writes what was held. False when the id turns out to have been used before; then it is not open. */
  #release(row: ExecutionRow): boolean {
    const json = this.#held.get(row.id);
    if (json === undefined) return true;
    this.#held.delete(row.id);
    if (this.#write(row, null, json)) return true;
    this.#open().delete(row.id);
    return false;
  }

  remove(id: string): void {
    if (this.#held.delete(id)) {
      this.#open().delete(id);
      return;
    }
    this.#sql.exec("DELETE FROM executions WHERE id = ?", id);
    this.#sql.exec("DELETE FROM big_text WHERE owner >= ? AND owner < ?", `${id}/`, `${id}0`);
    this.#open().delete(id);
    this.#recent.delete(id);
  }

  find(id: string): ExecutionRow | null {
    return this.#open().get(id) ?? this.#one(`SELECT ${COLUMNS} FROM executions WHERE id = ?`, id);
  }

  findByKey(idempotencyKey: string): ExecutionRow | null {
    this.#open();
    return this.#one(`SELECT ${COLUMNS} FROM executions WHERE idempotency_key = ?`, idempotencyKey);
  }

  findOpen(id: string): ExecutionRow | null {
    return this.#open().get(id) ?? null;
  }

  /** Executions that have not ended, oldest first; of one context, or of all. */
  open(context?: string): ExecutionRow[] {
    const rows = [...this.#open().values()];
    return context === undefined ? rows : rows.filter((row) => row.context === context);
  }

  hasOpen(): boolean {
    return this.#open().size > 0;
  }

  page(before: number | null, limit: number): ExecutionRow[] {
    this.#open();
    for (const id of [...this.#held.keys()]) this.#release(this.#open().get(id)!);
    return this.#sql
      .exec(
        `SELECT ${COLUMNS} FROM executions WHERE ordinal < ? ORDER BY ordinal DESC LIMIT ?`,
        before ?? Number.MAX_SAFE_INTEGER,
        limit,
      )
      .toArray() as unknown as ExecutionRow[];
  }

  /** The number of the newest that is written. */
  lastOrdinal(): number {
    this.#lastOrdinal ??=
      this.#sql.exec<{ last: number | null }>("SELECT max(ordinal) AS last FROM executions").one().last ?? 0;
    return this.#lastOrdinal;
  }

  /** Those that are written after a number, oldest first. */
  writtenAfter(ordinal: number, limit: number): ExecutionRow[] {
    this.#open();
    return this.#sql
      .exec(`SELECT ${COLUMNS} FROM executions WHERE ordinal > ? ORDER BY ordinal LIMIT ?`, ordinal, limit)
      .toArray() as unknown as ExecutionRow[];
  }

  /** Those that are written and have not ended. */
  openWritten(): string[] {
    return this.open().flatMap(({ id }) => (this.#held.has(id) ? [] : [id]));
  }

  request(id: string): CausedExecution {
    const held = this.#held.get(id);
    return JSON.parse(held ?? this.#requestText(id));
  }

  #requestText(id: string): string {
    const { request } = this.#sql
      .exec<{ request: string | null }>("SELECT request FROM executions WHERE id = ?", id)
      .one();
    return loadText(this.#sql, `${id}/request`, request);
  }

  /** What was run; null when it was too long to be kept after its end. */
  code(id: string): string | null {
    const json = this.#held.get(id) ?? this.#requestText(id);
    return json === "" ? null : (JSON.parse(json) as CreateExecution).code;
  }

  /** False when the row was held and its id had been used before; then there is nothing to send. */
  markSent(row: ExecutionRow): boolean {
    const sent: ExecutionRow = { ...row, state: "sent" };
    if (this.#held.has(row.id)) return this.#release(sent);
    this.#sql.exec("UPDATE executions SET state = 'sent' WHERE id = ?", row.id);
    this.#open().set(row.id, sent);
    return true;
  }

  /** Continues the log with the next events. The row itself is written by `saveProgress` or `finish`. */
  append(row: ExecutionRow, events: readonly KernelEvent[], now: number): ExecutionRow {
    const json = JSON.stringify(events);
    const first = row.position + 1;
    const next: ExecutionRow = {
      ...row,
      last_seq: events.at(-1)!.seq,
      position: row.position + events.length,
      event_bytes: row.event_bytes + json.length,
      started_at: row.started_at ?? now,
    };
    this.#sql.exec(
      "INSERT INTO events VALUES (?, ?, ?, ?)",
      row.id,
      first,
      next.position,
      saveText(this.#sql, `${row.id}/events/${first}`, json),
    );
    return next;
  }

  saveProgress(row: ExecutionRow): void {
    this.#sql.exec(
      "UPDATE executions SET last_seq = ?, position = ?, event_bytes = ?, started_at = ? WHERE id = ?",
      row.last_seq,
      row.position,
      row.event_bytes,
      row.started_at,
      row.id,
    );
    this.#open().set(row.id, row);
  }

  /** The batch that holds the first event after `position`. */
  batchAfter(id: string, position: number): EventBatch | null {
    const row = this.#sql
      .exec<{ first: number; last: number; json: string | null }>(
        "SELECT first, last, json FROM events WHERE execution = ? AND last > ? ORDER BY first LIMIT 1",
        id,
        position,
      )
      .toArray()[0];
    if (!row) return null;
    const json = loadText(this.#sql, `${id}/events/${row.first}`, row.json);
    return { first: row.first, last: row.last, events: JSON.parse(json) };
  }

  *events(id: string): Generator<KernelEvent> {
    for (let position = 0; ; ) {
      const batch = this.batchAfter(id, position);
      if (!batch) return;
      yield* batch.events;
      position = batch.last;
    }
  }

  /** Writes the one terminal record, and with it how far the log came. */
  finish(row: ExecutionRow, record: Execution): void {
    if (!this.#release(row)) return;
    const json = JSON.stringify(record);
    // The request is not needed any more; its digest stays for the idempotency key.
    const { request } = this.#sql
      .exec<{ request: string | null }>(
        `UPDATE executions SET state = 'done', last_seq = ?, position = ?, event_bytes = ?, started_at = ?, record = ?
         WHERE id = ? RETURNING request`,
        row.last_seq,
        row.position,
        row.event_bytes,
        row.started_at,
        saveText(this.#sql, `${row.id}/record`, json),
        row.id,
      )
      .one();
    if (request === null) this.#sql.exec("DELETE FROM big_text WHERE owner = ?", `${row.id}/request`);
    else if (request.length > KEEP_REQUEST_CHARS)
      this.#sql.exec("UPDATE executions SET request = '' WHERE id = ?", row.id);
    this.#open().delete(row.id);
    if (row.event_bytes > 0) this.#logs?.push({ id: row.id, length: row.event_bytes });
    if (json.length > RECENT_RECORD_CHARS) return;
    this.#recent.set(row.id, { json, artifacts: record.artifacts.length });
    if (this.#recent.size > RECENT_RECORDS) this.#recent.delete(this.#recent.keys().next().value!);
  }

  /** Null while it is open, and when there is none. */
  record(id: string): Execution | null {
    const stored = this.stored(id);
    return stored && JSON.parse(stored.json);
  }

  /** The same as its JSON, for whoever only passes it on. */
  stored(id: string): StoredRecord | null {
    const recent = this.#recent.get(id);
    if (recent) return recent;
    const row = this.#sql
      .exec<{ record: string | null }>("SELECT record FROM executions WHERE id = ? AND state = 'done'", id)
      .toArray()[0];
    if (!row) return null;
    const json = loadText(this.#sql, `${id}/record`, row.record);
    return { json, artifacts: (JSON.parse(json) as Execution).artifacts.length };
  }

  /** Keeps the newest logs within bounds, then the newest records; what is open is never touched. */
  prune(limits: { logBytes: number; logs: number; records: number }): void {
    this.#logs ??= this.#sql
      .exec<{ id: string; length: number }>(
        "SELECT id, event_bytes AS length FROM executions WHERE state = 'done' AND event_bytes > 0 ORDER BY ordinal",
      )
      .toArray();
    let bytes = this.#logs.reduce((sum, { length }) => sum + length, 0);
    let count = 0;
    while (bytes > limits.logBytes || this.#logs.length - count > limits.logs)
      bytes -= this.#logs[count++]!.length;
    const over = this.#logs.splice(0, count);
    if (over.length > 0)
      this.#sql.exec(
        "DELETE FROM events WHERE execution IN (SELECT value FROM json_each(?))",
        JSON.stringify(over.map(({ id }) => id)),
      );
    for (const { id } of over.filter(isBig))
      this.#sql.exec("DELETE FROM big_text WHERE owner >= ? AND owner < ?", `${id}/events/`, `${id}/events0`);
    this.#pruneRecords(limits.records);
  }

  #pruneRecords(limit: number): void {
    // Their numbers are nearly without gaps, and counting the rows takes much longer.
    const { most } = this.#sql
      .exec<{ most: number | null }>(
        "SELECT max(ordinal) - (SELECT min(ordinal) FROM executions) AS most FROM executions",
      )
      .one();
    if ((most ?? 0) < limit) return;
    const old = this.#sql
      .exec<{ id: string }>(
        "SELECT id FROM executions WHERE state = 'done' ORDER BY ordinal DESC LIMIT -1 OFFSET ?",
        limit,
      )
      .toArray();
    for (const { id } of old) {
      this.#sql.exec("DELETE FROM events WHERE execution = ?", id);
      this.remove(id);
    }
  }

  /** Loaded at the first use: the tables are there only after the session was created. */
  #open(): Map<string, ExecutionRow> {
    if (this.#openRows) return this.#openRows;
    // Of sessions from before executions knew who asked for them.
    const columns = this.#sql.exec("SELECT 1 FROM pragma_table_info('executions') WHERE name = 'created_by'");
    if (columns.toArray().length === 0) this.#sql.exec("ALTER TABLE executions ADD COLUMN created_by TEXT");
    const rows = this.#sql.exec(`SELECT ${COLUMNS} FROM executions WHERE state != 'done' ORDER BY ordinal`);
    this.#openRows = new Map((rows.toArray() as unknown as ExecutionRow[]).map((row) => [row.id, row]));
    return this.#openRows;
  }

  #one(query: string, ...bindings: SqlStorageValue[]): ExecutionRow | null {
    return (this.#sql.exec(query, ...bindings).toArray()[0] as unknown as ExecutionRow | undefined) ?? null;
  }
}

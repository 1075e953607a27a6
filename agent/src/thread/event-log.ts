/**
 * What a run has said, in order. Written in batches, since a write for each token would cost more than the token, and
 * read only from what is written: a reader never sees an event that a crash could take back.
 *
 * @module
 */
import { loadText, saveText } from "@sandbar/worker/src/session/big-text.ts";

const FLUSH_MS = 40;
const FLUSH_CHARS = 64 * 1024;
/** Of one answer to a reader. */
const READ_CHARS = 256 * 1024;
/** Kept of runs that are over, newest first. */
const KEEP_BYTES = 32 * 1024 * 1024;
const KEEP_RUNS = 50;

export interface LoggedEvent {
  readonly id: number;
  readonly event: string;
  /** JSON. */
  readonly data: string;
}

export class EventLog {
  readonly #sql: SqlStorage;
  readonly #written: (run_id: string) => void;
  #pending: { run_id: string; event: string; data: string }[] = [];
  #chars = 0;
  #timer: ReturnType<typeof setTimeout> | null = null;
  readonly #last = new Map<string, number>();

  constructor(sql: SqlStorage, written: (run_id: string) => void) {
    this.#sql = sql;
    this.#written = written;
  }

  append(run_id: string, event: string, data: string): void {
    this.#pending.push({ run_id, event, data });
    this.#chars += data.length;
    if (this.#chars >= FLUSH_CHARS) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), FLUSH_MS);
  }

  flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const pending = this.#pending;
    this.#pending = [];
    this.#chars = 0;
    for (const { run_id, event, data } of pending) {
      const id = this.last(run_id) + 1;
      const text = saveText(this.#sql, owner(run_id, id), data);
      this.#sql.exec("INSERT INTO events VALUES (?, ?, ?, ?, ?)", run_id, id, event, text, data.length);
      this.#last.set(run_id, id);
    }
    for (const run_id of new Set(pending.map((entry) => entry.run_id))) this.#written(run_id);
  }

  /** The id of the last event that is written. */
  last(run_id: string): number {
    const known = this.#last.get(run_id);
    if (known !== undefined) return known;
    const { last } = this.#sql
      .exec<{ last: number }>("SELECT coalesce(max(id), 0) AS last FROM events WHERE run_id = ?", run_id)
      .one();
    this.#last.set(run_id, last);
    return last;
  }

  /** A stretch of what follows `after`. */
  read(run_id: string, after: number): LoggedEvent[] {
    const found: LoggedEvent[] = [];
    let chars = 0;
    const rows = this.#sql.exec<{ id: number; event: string; data: string | null }>(
      "SELECT id, event, data FROM events WHERE run_id = ? AND id > ? ORDER BY id LIMIT 500",
      ...[run_id, after],
    );
    for (const { id, event, data } of rows) {
      const text = loadText(this.#sql, owner(run_id, id), data);
      found.push({ id, event, data: text });
      chars += text.length;
      if (chars >= READ_CHARS) break;
    }
    return found;
  }

  /** A stretch of what all runs have said; they speak one after the other, in the order of their numbers. */
  readAll({ run, id }: { run: number; id: number }): (LoggedEvent & { run: number })[] {
    const rows = this.#sql.exec<{
      run: number;
      run_id: string;
      id: number;
      event: string;
      data: string | null;
    }>(
      `SELECT r.number AS run, e.run_id, e.id, e.event, e.data FROM runs r JOIN events e ON e.run_id = r.run_id
       WHERE (r.number, e.id) > (?, ?) ORDER BY r.number, e.id LIMIT 500`,
      ...[run, id],
    );
    const found: (LoggedEvent & { run: number })[] = [];
    let chars = 0;
    for (const row of rows) {
      const data = loadText(this.#sql, owner(row.run_id, row.id), row.data);
      found.push({ run: row.run, id: row.id, event: row.event, data });
      chars += data.length;
      if (chars >= READ_CHARS) break;
    }
    return found;
  }

  /** After everything that was said. */
  end(): { run: number; id: number } {
    const [last] = this.#sql
      .exec<{ run: number; id: number }>(
        `SELECT r.number AS run, e.id FROM runs r JOIN events e ON e.run_id = r.run_id
         ORDER BY r.number DESC, e.id DESC LIMIT 1`,
      )
      .toArray();
    return last ?? { run: 0, id: 0 };
  }

  /** Every `custom` event of the run, for whoever must not say it twice. */
  custom(run_id: string): unknown[] {
    return this.#sql
      .exec<{ id: number; data: string | null }>(
        "SELECT id, data FROM events WHERE run_id = ? AND event = 'custom' ORDER BY id",
        run_id,
      )
      .toArray()
      .map(({ id, data }) => JSON.parse(loadText(this.#sql, owner(run_id, id), data)));
  }

  remove(run_id: string): void {
    this.#sql.exec("DELETE FROM events WHERE run_id = ?", run_id);
    this.#sql.exec("DELETE FROM big_text WHERE owner LIKE ?", `event/${run_id}/%`);
    this.#last.delete(run_id);
  }

  /** Forgets what the oldest runs have said; their results stay in the thread's state. */
  prune(): void {
    const rows = this.#sql
      .exec<{ run_id: string; bytes: number }>(
        `SELECT r.run_id, coalesce(sum(e.bytes), 0) AS bytes FROM runs r JOIN events e ON e.run_id = r.run_id
         WHERE r.status NOT IN ('pending', 'running') GROUP BY r.run_id ORDER BY r.number DESC`,
      )
      .toArray();
    let bytes = 0;
    for (const [index, row] of rows.entries()) {
      bytes += row.bytes;
      // What has just ended is read yet.
      if (index > 0 && (index >= KEEP_RUNS || bytes > KEEP_BYTES)) this.remove(row.run_id);
    }
  }
}

const owner = (run_id: string, id: number) => `event/${run_id}/${id}`;

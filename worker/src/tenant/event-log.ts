/**
 * What happened, numbered, for readers that come and go. The newest events are kept, some together in a row, since a row
 * costs more than its length.
 *
 * @module
 */

export interface LoggedEvent {
  readonly type: string;
  readonly data: unknown;
}

export interface LogLimits {
  readonly events: number;
  readonly ageMs: number;
}

/** `gone`: what followed the position is not kept any more, or there is no such position. */
export type LogPage =
  | { readonly first: number; readonly last: number; readonly events: LoggedEvent[] }
  | { readonly gone: true }
  | null;

const SCHEMA = `CREATE TABLE IF NOT EXISTS event_log (first INTEGER PRIMARY KEY, last INTEGER NOT NULL,
  at INTEGER NOT NULL, json TEXT NOT NULL)`;
/** Well below the largest row. */
const ROW_CHARS = 500_000;
const PRUNE_EVERY = 100;

export class EventLog {
  readonly #sql: SqlStorage;
  readonly #limits: LogLimits;
  #oldest: number;
  #last: number;
  #newest: { first: number; last: number; events: LoggedEvent[] } | null = null;
  #sincePrune = 0;

  constructor(sql: SqlStorage, limits: LogLimits) {
    this.#sql = sql;
    this.#limits = limits;
    sql.exec(SCHEMA);
    this.#last = sql.exec<{ last: number | null }>("SELECT max(last) AS last FROM event_log").one().last ?? 0;
    this.#oldest = this.#firstKept();
  }

  get last(): number {
    return this.#last;
  }

  append(events: readonly LoggedEvent[], now: number): void {
    const texts = events.map((event) => JSON.stringify(event));
    for (let from = 0; from < events.length; ) {
      let chars = 0;
      let to = from;
      while (to < events.length && (to === from || chars < ROW_CHARS)) chars += texts[to++]!.length;
      this.#appendRow(events.slice(from, to), `[${texts.slice(from, to).join()}]`, now);
      from = to;
    }
    this.#sincePrune += events.length;
    if (this.#sincePrune >= PRUNE_EVERY) this.#prune(now);
  }

  #appendRow(events: LoggedEvent[], json: string, now: number): void {
    const first = this.#last + 1;
    const last = this.#last + events.length;
    this.#sql.exec("INSERT INTO event_log VALUES (?, ?, ?, ?)", first, last, now, json);
    this.#last = last;
    this.#newest = { first, last, events };
  }

  after(position: number): LogPage {
    if (position === this.#last) return null;
    if (position > this.#last || position < this.#oldest - 1) return { gone: true };
    // Most readers are at the end.
    const page = this.#newest && position >= this.#newest.first - 1 ? this.#newest : this.#read(position);
    const skip = position + 1 - page.first;
    return { first: position + 1, last: page.last, events: page.events.slice(skip) };
  }

  #read(position: number) {
    const { first, last, json } = this.#sql
      .exec<{ first: number; last: number; json: string }>(
        "SELECT first, last, json FROM event_log WHERE first <= ? ORDER BY first DESC LIMIT 1",
        position + 1,
      )
      .one();
    return { first, last, events: JSON.parse(json) as LoggedEvent[] };
  }

  /** The newest row stays, so that no position is given twice. */
  #prune(now: number): void {
    this.#sincePrune = 0;
    const { events, ageMs } = this.#limits;
    this.#sql.exec(
      "DELETE FROM event_log WHERE last < ? AND (last <= ? OR at < ?)",
      this.#last,
      this.#last - events,
      now - ageMs,
    );
    this.#oldest = this.#firstKept();
  }

  #firstKept(): number {
    return (
      this.#sql.exec<{ first: number | null }>("SELECT min(first) AS first FROM event_log").one().first ?? 1
    );
  }
}

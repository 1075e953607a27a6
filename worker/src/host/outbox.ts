/**
 * Commands on their way to the daemon, numbered in their order, until it has acknowledged them.
 *
 * Each is persisted before it is sent. A run rests in its session's journal, and its session sends it again when this
 * object has forgotten it, so here it is written only when there is no socket for it, or when something follows it
 * that must not overtake it. Everything else is written here. What was acknowledged is deleted with the next write.
 *
 * @module
 */
import type { Command } from "@sandbar/shared";
import type { Envelope } from "../session/envelope.ts";

export const OUTBOX_SCHEMA = [
  `CREATE TABLE outbox (n INTEGER PRIMARY KEY, session TEXT NOT NULL, dedupe TEXT NOT NULL, command TEXT NOT NULL,
     sent INTEGER NOT NULL)`,
];

/** Beyond this the host is not taking commands, and more of them help nobody. */
export const OUTBOX_LIMIT = 10_000;

const RESERVED = "outbox.reserved";
const RESERVE = 10_000;
const FLUSH_EVERY = 256;

export interface OutboxRow {
  readonly n: number;
  readonly session: string;
  readonly command: Command;
}

interface PutRow extends OutboxRow {
  readonly dedupe: string;
}

export class Outbox {
  readonly #sql: SqlStorage;
  readonly #kv: DurableObjectStorage["kv"];
  /** What waits for its acknowledgement, by session and purpose: a second one of the same is not put. */
  #waiting: Map<string, number> | null = null;
  /** Runs that were sent and are not in the table, by number. */
  readonly #unwritten = new Map<number, PutRow>();
  #lastN: number;
  /** No number above this one was ever given out. */
  #reserved: number;
  #ackedTo = 0;
  /** The highest number that is in the table, and how far what was acknowledged has been deleted. */
  #writtenTo = 0;
  #flushedTo = 0;
  /** Whether a creation was acknowledged decides if a session has died, so those are deleted at once. */
  readonly #creations = new Set<number>();

  constructor({ sql, kv }: DurableObjectStorage) {
    this.#sql = sql;
    this.#kv = kv;
    this.#reserved = kv.get<number>(RESERVED) ?? 0;
    // Where the last numbers are unknown, those that follow must be higher than any of them.
    this.#lastN = this.#reserved;
  }

  /** The last number that was given out; a socket that outlives this object's memory carries it. */
  get lastN(): number {
    return this.#lastN;
  }

  resumeAt(lastN: number): void {
    this.#lastN = lastN;
  }

  /** The new row, or null when the same command waits already. */
  put(session: string, { dedupe, command, again = false }: Envelope, linked: boolean): OutboxRow | null {
    const waiting = this.#load();
    const purpose = purposeOf(session, dedupe);
    if (waiting.has(purpose)) return null;
    const row: PutRow = { n: this.#nextN(), session, dedupe, command };
    if (linked && command.type === "run") this.#unwritten.set(row.n, row);
    else {
      this.#writeRuns(session);
      this.#write(row, linked || again);
      this.flush();
    }
    waiting.set(purpose, row.n);
    if (command.type === "session.create") this.#creations.add(row.n);
    return row;
  }

  /** Acknowledges every command up to `n`. */
  ack(n: number): void {
    if (n <= this.#ackedTo || n > this.#lastN) return;
    this.#ackedTo = n;
    const waiting = this.#load();
    for (const [purpose, put] of waiting) {
      if (put > n) break;
      waiting.delete(purpose);
    }
    for (const put of this.#unwritten.keys()) {
      if (put > n) break;
      this.#unwritten.delete(put);
    }
    let created = false;
    for (const creation of this.#creations) if (creation <= n) created = this.#creations.delete(creation);
    if (created || n - this.#flushedTo >= FLUSH_EVERY) this.flush();
  }

  flush(): void {
    if (this.#flushedTo >= Math.min(this.#ackedTo, this.#writtenTo)) return;
    this.#sql.exec("DELETE FROM outbox WHERE n <= ?", this.#ackedTo);
    this.#flushedTo = this.#ackedTo;
  }

  size(): number {
    return this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM outbox WHERE n > ?", this.#ackedTo).one()
      .n;
  }

  /**
   * The daemon has had the commands up to `last` and none after it. Yields those in order, numbered anew from there
   * without a gap, and marked as sent before they are handed out. `ours`: no other daemon was given numbers since.
   */
  *resendAfter(last: number, ours: boolean): Generator<OutboxRow> {
    // What was acknowledged has been carried out, also when the journal that said so is lost. A number of another
    // journal's count, or one that was never given out, says nothing of what waits here.
    const had = Math.max(this.#ackedTo, ours && last <= this.#lastN ? last : 0);
    for (const row of this.#unwritten.values()) if (row.n > had) this.#write(row, true);
    this.#unwritten.clear();
    this.#creations.clear();
    this.#sql.exec("DELETE FROM outbox WHERE n <= ? OR command = ''", had);
    this.#sql.exec("UPDATE outbox SET sent = 1 WHERE sent = 0");
    this.#ackedTo = this.#flushedTo = this.#lastN = last;
    this.#reserve(last);
    const rows = this.#sql.exec<{ n: number }>("SELECT n FROM outbox ORDER BY n").toArray();
    const moves = rows.some(({ n }, index) => n !== last + 1 + index);
    // Out of the way first: a number may belong to another row still.
    if (moves) this.#sql.exec("UPDATE outbox SET n = -n");
    for (const { n } of rows) {
      const number = this.#nextN();
      if (moves) this.#sql.exec("UPDATE outbox SET n = ? WHERE n = ?", number, -n);
    }
    this.#waiting = null;
    const end = this.#lastN;
    for (let n = last + 1; n <= end; n++) {
      const { session, command: text } = this.#sql
        .exec<{ session: string; command: string }>("SELECT session, command FROM outbox WHERE n = ?", n)
        .one();
      const command: Command = JSON.parse(text);
      if (command.type === "session.create") this.#creations.add(n);
      yield { n, session, command };
    }
  }

  /** Sessions whose creation the daemon has not acknowledged. */
  creating(): Set<string> {
    this.flush();
    const rows = this.#sql.exec<{ session: string }>(
      "SELECT session FROM outbox WHERE dedupe = 'session.create'",
    );
    return new Set(rows.toArray().map((row) => row.session));
  }

  /** Executions of a session that were never put on a socket. */
  unsentRuns(session: string): string[] {
    return this.#sql
      .exec<{ dedupe: string }>(
        "SELECT dedupe FROM outbox WHERE session = ? AND sent = 0 AND dedupe LIKE 'run:%'",
        session,
      )
      .toArray()
      .map((row) => row.dedupe.slice("run:".length));
  }

  /**
   * Makes sure that nothing of an ended session is carried out. The rows keep their numbers, since the daemon
   * would wait for a missing one, and become orders to stop.
   */
  void(session: string): void {
    const stop: Command = { type: "session.stop", reason: "ended" };
    this.#writeRuns(session);
    this.#sql.exec(
      "UPDATE outbox SET command = ?, dedupe = 'void:' || n WHERE session = ?",
      JSON.stringify(stop),
      session,
    );
    const waiting = this.#load();
    for (const purpose of waiting.keys())
      if (purpose.startsWith(purposeOf(session, ""))) waiting.delete(purpose);
  }

  #nextN(): number {
    this.#reserve(++this.#lastN);
    return this.#lastN;
  }

  #reserve(n: number): void {
    if (n <= this.#reserved) return;
    this.#reserved = n + RESERVE;
    this.#kv.put(RESERVED, this.#reserved);
  }

  #writeRuns(session: string): void {
    for (const row of this.#unwritten.values())
      if (row.session === session) {
        this.#write(row, true);
        this.#unwritten.delete(row.n);
      }
  }

  #write({ n, session, dedupe, command }: PutRow, sent: boolean): void {
    const text = JSON.stringify(command);
    this.#sql.exec("INSERT INTO outbox VALUES (?, ?, ?, ?, ?)", n, session, dedupe, text, sent ? 1 : 0);
    this.#writtenTo = Math.max(this.#writtenTo, n);
  }

  /** Loaded at the first use: the table is there only after the host has said its first hello. */
  #load(): Map<string, number> {
    if (this.#waiting) return this.#waiting;
    this.#waiting = new Map();
    this.#writtenTo = 0;
    const rows = this.#sql.exec<{ n: number; session: string; dedupe: string }>(
      "SELECT n, session, dedupe FROM outbox ORDER BY n",
    );
    for (const { n, session, dedupe } of rows) {
      this.#waiting.set(purposeOf(session, dedupe), n);
      this.#writtenTo = n;
    }
    return this.#waiting;
  }
}

const purposeOf = (session: string, dedupe: string) => `${session} ${dedupe}`;

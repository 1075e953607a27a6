/**
 * Commands that the daemon has not acknowledged. Each is written before it is sent. Acknowledged ones are deleted
 * with the next write: sending one again after an eviction is harmless, an extra write per execution is not free.
 *
 * @module
 */
import type { Command } from "@sandbar/shared";

export const OUTBOX_SCHEMA = [
  `CREATE TABLE outbox (n INTEGER PRIMARY KEY, session TEXT NOT NULL, dedupe TEXT NOT NULL, command TEXT NOT NULL,
     sent INTEGER NOT NULL)`,
];

/** Beyond this the host is not taking commands, and more of them help nobody. */
export const OUTBOX_LIMIT = 10_000;

export interface OutboxRow {
  readonly n: number;
  readonly session: string;
  readonly command: Command;
}

export class Outbox {
  readonly #sql: SqlStorage;
  /** What waits for its acknowledgement, by session and purpose: a second one of the same is not put. */
  #waiting: Map<string, number> | null = null;
  #lastN = 0;
  #ackedTo = 0;
  #flushedTo = 0;
  /** Whether a creation was acknowledged decides if a session has died, so those are deleted at once. */
  readonly #creations = new Set<number>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** The new row, or null when the same command waits already. */
  put(session: string, dedupe: string, command: Command, sent: boolean): OutboxRow | null {
    const waiting = this.#load();
    const purpose = purposeOf(session, dedupe);
    // One that was acknowledged has been carried out, and may be wanted again.
    if ((waiting.get(purpose) ?? 0) > this.#ackedTo) return null;
    const n = ++this.#lastN;
    this.#sql.exec(
      "INSERT INTO outbox VALUES (?, ?, ?, ?, ?)",
      n,
      session,
      dedupe,
      JSON.stringify(command),
      sent ? 1 : 0,
    );
    this.flush();
    waiting.set(purpose, n);
    if (command.type === "session.create") this.#creations.add(n);
    return { n, session, command };
  }

  /** Acknowledges every command up to `n`. */
  ack(n: number): void {
    if (n <= this.#ackedTo) return;
    this.#ackedTo = n;
    let created = false;
    for (const creation of this.#creations) if (creation <= n) created = this.#creations.delete(creation);
    if (created || n - this.#flushedTo >= 256) this.flush();
  }

  /** The last row stays as an empty one when it is done with: its number must not be given out again. */
  flush(): void {
    if (this.#ackedTo === this.#flushedTo) return;
    const waiting = this.#load();
    for (const [purpose, n] of waiting) {
      if (n > this.#ackedTo) break;
      waiting.delete(purpose);
    }
    this.#sql.exec("DELETE FROM outbox WHERE n <= ? AND n < ?", this.#ackedTo, this.#lastN);
    if (this.#ackedTo >= this.#lastN)
      this.#sql.exec("UPDATE outbox SET dedupe = '', command = '' WHERE n = ?", this.#lastN);
    this.#flushedTo = this.#ackedTo;
  }

  size(): number {
    return this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM outbox WHERE n > ?", this.#ackedTo).one()
      .n;
  }

  /** The lowest number that may still come. */
  nextN(): number {
    this.#load();
    this.flush();
    const { first } = this.#sql
      .exec<{ first: number | null }>("SELECT min(n) AS first FROM outbox WHERE command != ''")
      .one();
    return first ?? this.#lastN + 1;
  }

  /** Everything unacknowledged in order, marked as sent before it is handed out. */
  *resend(): Generator<OutboxRow> {
    this.flush();
    this.#sql.exec("UPDATE outbox SET sent = 1 WHERE sent = 0");
    for (let n = 0; ; ) {
      const row = this.#sql
        .exec<{ n: number; session: string; command: string }>(
          "SELECT n, session, command FROM outbox WHERE n > ? AND command != '' ORDER BY n LIMIT 1",
          n,
        )
        .toArray()[0];
      if (!row) return;
      n = row.n;
      const command: Command = JSON.parse(row.command);
      if (command.type === "session.create") this.#creations.add(n);
      yield { n, session: row.session, command };
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
    this.#sql.exec(
      "UPDATE outbox SET command = ?, dedupe = 'void:' || n WHERE session = ? AND command != ''",
      JSON.stringify(stop),
      session,
    );
    this.#waiting = null;
  }

  /** Loaded at the first use: the table is there only after the host has said its first hello. */
  #load(): Map<string, number> {
    if (this.#waiting) return this.#waiting;
    this.#waiting = new Map();
    const rows = this.#sql.exec<{ n: number; session: string; dedupe: string }>(
      "SELECT n, session, dedupe FROM outbox ORDER BY n",
    );
    for (const { n, session, dedupe } of rows) {
      this.#lastN = n;
      if (dedupe !== "") this.#waiting.set(purposeOf(session, dedupe), n);
    }
    return this.#waiting;
  }
}

const purposeOf = (session: string, dedupe: string) => `${session} ${dedupe}`;

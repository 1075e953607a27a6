/** @module What the tenant's object has heard of each session, so that nothing is counted twice or lost for good. */

/** What a session's object needs to know to go on telling after it was reset. */
export interface Known {
  /** It has told of every execution up to this number in its journal, */
  readonly ordinal: number;
  /** except that these had not ended. */
  readonly open: readonly string[];
  readonly status: string;
}

export interface Seen extends Known {
  /** Who told it last, and the number of what it told: a repeated call tells nothing new. */
  readonly teller: string;
  readonly n: number;
  readonly live: boolean;
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS sessions (id TEXT PRIMARY KEY, live INTEGER NOT NULL, heard_at INTEGER NOT NULL,
  json TEXT NOT NULL) WITHOUT ROWID`;
/** One that ended is asked about only right after; one that lives, lives no longer than this. */
const KEEP_ENDED_MS = 7 * 24 * 3600_000;
const KEEP_LIVE_MS = 31 * 24 * 3600_000;
const PRUNE_MS = 3600_000;

export class SeenSessions {
  readonly #sql: SqlStorage;
  #live: number | null = null;
  #prunedAt = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  find(session: string): Seen | null {
    const row = this.#sql
      .exec<{ json: string }>("SELECT json FROM sessions WHERE id = ?", session)
      .toArray()[0];
    return row ? JSON.parse(row.json) : null;
  }

  save(session: string, seen: Seen, before: Seen | null, now: number): void {
    const live = this.live;
    this.#sql.exec(
      "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?)",
      session,
      seen.live ? 1 : 0,
      now,
      JSON.stringify(seen),
    );
    this.#live = live + (seen.live ? 1 : 0) - (before?.live ? 1 : 0);
    if (now - this.#prunedAt > PRUNE_MS) this.#prune(now);
  }

  /** How many live. */
  get live(): number {
    this.#live ??= this.#sql.exec<{ n: number }>("SELECT count(*) AS n FROM sessions WHERE live = 1").one().n;
    return this.#live;
  }

  /** Executions that have not ended, of those that live. */
  get open(): number {
    return this.#sql
      .exec<{ n: number }>(
        "SELECT coalesce(sum(json_array_length(json, '$.open')), 0) AS n FROM sessions WHERE live = 1",
      )
      .one().n;
  }

  #prune(now: number): void {
    this.#prunedAt = now;
    this.#sql.exec(
      "DELETE FROM sessions WHERE heard_at < CASE live WHEN 1 THEN ? ELSE ? END",
      now - KEEP_LIVE_MS,
      now - KEEP_ENDED_MS,
    );
    this.#live = null;
  }
}

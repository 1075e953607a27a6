/** @module One-time tokens by which a host joins. */
import { newSecret, sha256Hex } from "../tokens.ts";

const ENROLLMENT_TTL_MS = 15 * 60_000;
const OPEN_LIMIT = 1_000;

export const ENROLLMENT_SCHEMA = `CREATE TABLE IF NOT EXISTS enrollments (
  digest TEXT PRIMARY KEY, expires_at INTEGER NOT NULL, host TEXT, public_key TEXT)`;

export class Enrollments {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  async open(now: number): Promise<{ token: string; expires_at: number }> {
    const token = newSecret("sbe_");
    const digest = await sha256Hex(token);
    const expires_at = now + ENROLLMENT_TTL_MS;
    this.prune(now);
    this.#sql.exec("INSERT INTO enrollments VALUES (?, ?, NULL, NULL)", digest, expires_at);
    this.#sql.exec(
      "DELETE FROM enrollments WHERE digest NOT IN (SELECT digest FROM enrollments ORDER BY expires_at DESC LIMIT ?)",
      OPEN_LIMIT,
    );
    return { token, expires_at };
  }

  /**
   * Uses the token up for a host; `existing` when the same key had used it before (its answer was lost on the way).
   * Null when it is not valid. The digest is computed by the caller so that no await splits check from use.
   */
  redeem(
    digest: string,
    publicKey: string,
    host: string,
    now: number,
  ): { host: string; existing: boolean } | null {
    const row = this.#sql
      .exec<{ expires_at: number; host: string | null; public_key: string | null }>(
        "SELECT expires_at, host, public_key FROM enrollments WHERE digest = ?",
        digest,
      )
      .toArray()[0];
    if (!row || row.expires_at <= now) return null;
    if (row.host !== null) return row.public_key === publicKey ? { host: row.host, existing: true } : null;
    this.#sql.exec(
      "UPDATE enrollments SET host = ?, public_key = ? WHERE digest = ?",
      host,
      publicKey,
      digest,
    );
    return { host, existing: false };
  }

  prune(now: number): void {
    this.#sql.exec("DELETE FROM enrollments WHERE expires_at <= ?", now);
  }
}

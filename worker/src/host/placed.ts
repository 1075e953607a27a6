/** @module The sessions that were placed on this host and have not ended, with their tenants. */

export const PLACED_SCHEMA = ["CREATE TABLE placed (session TEXT PRIMARY KEY, tenant TEXT NOT NULL)"];

export class Placed {
  readonly #sql: SqlStorage;
  #tenants: Map<string, string> | null = null;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  get all(): ReadonlyMap<string, string> {
    return this.#load();
  }

  add(session: string, tenant: string): void {
    this.#load().set(session, tenant);
    this.#sql.exec("INSERT OR REPLACE INTO placed VALUES (?, ?)", session, tenant);
  }

  remove(session: string): void {
    if (this.#load().delete(session)) this.#sql.exec("DELETE FROM placed WHERE session = ?", session);
  }

  #load(): Map<string, string> {
    this.#tenants ??= new Map(
      this.#sql
        .exec<{ session: string; tenant: string }>("SELECT session, tenant FROM placed")
        .toArray()
        .map((row) => [row.session, row.tenant]),
    );
    return this.#tenants;
  }
}

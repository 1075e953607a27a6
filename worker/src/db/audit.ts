/** @module The audit log in D1. */
import type { AuditEntry } from "@sandbar/shared";
import { and, desc, eq, gte, like, lt, ne, or } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

const audit = sqliteTable("audit", {
  id: text().primaryKey(),
  at: text().notNull(),
  last_at: text().notNull(),
  count: integer().notNull(),
  tenant: text(),
  key_id: text(),
  token_id: text(),
  via: text().$type<AuditEntry["via"]>(),
  address: text(),
  action: text().notNull(),
  target: text(),
  result: text().notNull(),
  request_id: text(),
  detail: text(),
});

const COLUMNS = [
  "id",
  "at",
  "last_at",
  "count",
  "tenant",
  "key_id",
  "token_id",
  "via",
  "address",
  "action",
  "target",
  "result",
  "request_id",
  "detail",
] as const satisfies (keyof AuditEntry)[];
/** One that was written and whose answer was lost is written again. */
const INSERT = `INSERT OR IGNORE INTO audit (${COLUMNS.join()}) VALUES (${COLUMNS.map(() => "?").join()})`;
const PRUNED_AT_ONCE = 5_000;
const PRUNE_ROUNDS = 20;

export async function addToAudit(d1: D1Database, entries: readonly AuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const insert = d1.prepare(INSERT);
  await d1.batch(entries.map((entry) => insert.bind(...COLUMNS.map((name) => entry[name]))));
}

export interface AuditFilter {
  readonly tenant?: string | undefined;
  /** A whole action, or with a `.` at its end all that begin so. */
  readonly action?: string | undefined;
  readonly target?: string | undefined;
  /** The id of a key or a token. */
  readonly by?: string | undefined;
  readonly address?: string | undefined;
  /** `ok`, `refused`, or one code. */
  readonly result?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** Newest first. */
export async function listAudit(
  d1: D1Database,
  { tenant, action, target, by, address, result, since, until }: AuditFilter,
  before: string | null,
  limit: number,
): Promise<AuditEntry[]> {
  const given = <T>(value: T | undefined, condition: (value: T) => ReturnType<typeof eq>) =>
    value === undefined ? undefined : condition(value);
  return drizzle(d1)
    .select()
    .from(audit)
    .where(
      and(
        given(tenant, (value) => eq(audit.tenant, value)),
        given(before ?? undefined, (value) => lt(audit.id, value)),
        given(action, (value) =>
          value.endsWith(".") ? like(audit.action, `${value}%`) : eq(audit.action, value),
        ),
        given(target, (value) => eq(audit.target, value)),
        given(by, (value) => or(eq(audit.key_id, value), eq(audit.token_id, value))!),
        given(address, (value) => eq(audit.address, value)),
        given(result, (value) => (value === "refused" ? ne(audit.result, "ok") : eq(audit.result, value))),
        given(since, (value) => gte(audit.at, value)),
        given(until, (value) => lt(audit.at, value)),
      ),
    )
    .orderBy(desc(audit.id))
    .limit(limit);
}

/** The only thing that removes lines. What is left over after so many rounds the next run takes. */
export async function pruneAudit(d1: D1Database, olderThan: string): Promise<void> {
  const prune = d1.prepare(
    `DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? ORDER BY id LIMIT ${PRUNED_AT_ONCE})`,
  );
  for (let round = 0; round < PRUNE_ROUNDS; round++) {
    const { meta } = await prune.bind(olderThan).run();
    if (meta.changes < PRUNED_AT_ONCE) return;
  }
}

/** @module D1's table of snapshots. Triggers in `migrations/` count their content and hold the quotas. */
import type { ContextReport, EngineName, Language } from "@sandbar/shared";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** What lists show without reading the manifest. */
export interface SnapshotSummary {
  readonly runtime: Language;
  readonly engine: EngineName;
  readonly image: string | null;
  readonly size: number;
  readonly files_bytes: number;
  readonly contexts: (ContextReport & { format: string | null; size: number })[];
}

export const snapshots = sqliteTable("snapshots", {
  id: text().primaryKey(),
  tenant: text().notNull(),
  session_id: text().notNull(),
  state: text().$type<"writing" | "ready">().notNull(),
  name: text(),
  /** The `Idempotency-Key` of whoever asked for it. */
  request_key: text(),
  digest: text(),
  summary: text({ mode: "json" }).$type<SnapshotSummary>(),
  new_bytes: integer().notNull(),
  created_at: text().notNull(),
  expires_at: text().notNull(),
});
export type SnapshotRow = typeof snapshots.$inferSelect;

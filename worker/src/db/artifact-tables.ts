/** @module D1's tables of artifacts and their content. Triggers in `migrations/` count them and hold the quotas. */
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

export const artifacts = sqliteTable("artifacts", {
  id: text().primaryKey(),
  tenant: text().notNull(),
  session_id: text().notNull(),
  execution_id: text(),
  name: text().notNull(),
  size: integer().notNull(),
  mime: text().notNull(),
  sha256: text().notNull(),
  /** With session, name and content: the same file is recorded once, however often it is brought. */
  version: text().notNull(),
  created_at: text().notNull(),
  expires_at: text(),
});
export type ArtifactRow = typeof artifacts.$inferSelect;

/** Where a tenant's content lies in R2: a whole object, or a piece of one that many small files share. */
export const blobs = sqliteTable(
  "blobs",
  {
    tenant: text().notNull(),
    sha256: text().notNull(),
    size: integer().notNull(),
    object_key: text().notNull(),
    object_offset: integer().notNull(),
    created_at: text().notNull(),
  },
  (table) => [primaryKey({ columns: [table.tenant, table.sha256] })],
);
export type BlobRow = typeof blobs.$inferSelect;

export const storageTotals = sqliteTable("storage_totals", {
  scope: text().primaryKey(),
  bytes: integer().notNull(),
  count: integer().notNull(),
  max_bytes: integer().notNull(),
  max_count: integer().notNull(),
});

export const signingKeys = sqliteTable("signing_keys", {
  kid: text().primaryKey(),
  secret: text().notNull(),
  created_at: text().notNull(),
  /** From then on its links are not honoured. */
  retired_at: text(),
});

/** How far a sweep over more than one run can do has come. */
export const sweepPositions = sqliteTable("sweep_positions", {
  name: text().primaryKey(),
  position: text().notNull(),
});

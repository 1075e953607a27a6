/** @module Dataset sources in D1. Their headers are written once and read only to be sent to a host. */
import { type CreateDatasetSource, type DatasetSource, newId } from "@sandbar/shared";
import { and, desc, eq, isNull, lt, or } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";

const sources = sqliteTable("dataset_sources", {
  id: text().primaryKey(),
  name: text().notNull().unique(),
  tenant: text(),
  url_template: text().notNull(),
  header_names: text({ mode: "json" }).$type<string[]>().notNull(),
  sealed_headers: text().notNull(),
  redirect_origins: text({ mode: "json" }).$type<string[]>().notNull(),
  allow_private: integer({ mode: "boolean" }).notNull(),
  max_bytes: integer(),
  timeout_s: integer().notNull(),
  created_at: text().notNull(),
});
export type SourceRow = typeof sources.$inferSelect;

/** Null when the name is taken. */
export async function addSource(
  d1: D1Database,
  { headers, max_bytes, tenant, ...wanted }: CreateDatasetSource,
  sealed_headers: string,
): Promise<DatasetSource | null> {
  const row: SourceRow = {
    id: newId("src"),
    ...wanted,
    tenant: tenant ?? null,
    max_bytes: max_bytes ?? null,
    header_names: Object.keys(headers),
    sealed_headers,
    created_at: new Date().toISOString(),
  };
  const added = await drizzle(d1)
    .insert(sources)
    .values(row)
    .onConflictDoNothing()
    .returning({ id: sources.id });
  return added.length ? shown(row) : null;
}

export async function listSources(
  d1: D1Database,
  before: string | null,
  limit: number,
): Promise<DatasetSource[]> {
  const rows = await drizzle(d1)
    .select()
    .from(sources)
    .where(before === null ? undefined : lt(sources.id, before))
    .orderBy(desc(sources.id))
    .limit(limit);
  return rows.map(shown);
}

/** By id or name; false when there was none. */
export async function deleteSource(d1: D1Database, reference: string): Promise<boolean> {
  const deleted = await drizzle(d1)
    .delete(sources)
    .where(or(eq(sources.id, reference), eq(sources.name, reference)))
    .returning({ id: sources.id });
  return deleted.length > 0;
}

/** Those that a tenant may use: all of them up to `limit`, or the one of a name. */
export async function sourcesFor(
  d1: D1Database,
  tenant: string,
  name: string | null,
  limit: number,
): Promise<SourceRow[]> {
  const usable = or(isNull(sources.tenant), eq(sources.tenant, tenant));
  return drizzle(d1)
    .select()
    .from(sources)
    .where(name === null ? usable : and(usable, eq(sources.name, name)))
    .limit(limit);
}

function shown({ sealed_headers: _, ...row }: SourceRow): DatasetSource {
  return row;
}

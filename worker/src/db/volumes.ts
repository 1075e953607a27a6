/** @module Volumes in D1: their names, the one host that each lies on, and which sessions have them. */
import { newId, type Volume } from "@sandbar/shared";
import { and, asc, eq, gt, inArray, isNull, notExists, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { type Answer, ok, refuse } from "../answer.ts";

const volumes = sqliteTable("volumes", {
  id: text().primaryKey(),
  tenant: text().notNull(),
  name: text().notNull(),
  host_id: text(),
  size_mb: integer(),
  deleting: integer({ mode: "boolean" }).notNull().default(false),
  created_at: text().notNull(),
});
const uses = sqliteTable(
  "volume_uses",
  { tenant: text().notNull(), name: text().notNull(), session_id: text().notNull() },
  (table) => [primaryKey({ columns: [table.tenant, table.name, table.session_id] })],
);

type Row = typeof volumes.$inferSelect;
export type KnownVolume = Omit<Volume, "size">;

const newRow = (tenant: string, name: string, rest: Partial<Row>): Row => ({
  id: newId("vol"),
  tenant,
  name,
  host_id: null,
  size_mb: null,
  deleting: false,
  created_at: new Date().toISOString(),
  ...rest,
});

export async function listVolumes(
  d1: D1Database,
  tenant: string,
  after: string | null,
  limit: number,
): Promise<KnownVolume[]> {
  const rows = await drizzle(d1)
    .select()
    .from(volumes)
    .where(and(eq(volumes.tenant, tenant), after === null ? undefined : gt(volumes.id, after)))
    .orderBy(asc(volumes.id))
    .limit(limit);
  return rows.map(known);
}

/** By its name, or by its id when no volume has that for a name. */
export async function findVolume(
  d1: D1Database,
  tenant: string,
  reference: string,
): Promise<KnownVolume | null> {
  const rows = await drizzle(d1)
    .select()
    .from(volumes)
    .where(and(eq(volumes.tenant, tenant), or(eq(volumes.name, reference), eq(volumes.id, reference))));
  const row = rows.find(({ name }) => name === reference) ?? rows[0];
  return row ? known(row) : null;
}

/** The volume that has the name afterwards, and whether that is a new one. */
export async function createVolume(
  d1: D1Database,
  tenant: string,
  name: string,
  sizeMb: number | null,
): Promise<{ volume: KnownVolume; created: boolean }> {
  const row = newRow(tenant, name, { size_mb: sizeMb });
  await drizzle(d1).insert(volumes).values(row).onConflictDoNothing();
  const volume = (await findVolume(d1, tenant, name)) ?? known(row);
  return { volume, created: volume.id === row.id };
}

/** The host that a session with these volumes must be on; null when any will do. */
export async function hostOfVolumes(
  d1: D1Database,
  tenant: string,
  names: readonly string[],
): Promise<Answer<string | null>> {
  const rows = await drizzle(d1).select().from(volumes).where(named(tenant, names));
  const refusal = unusable(rows);
  if (refusal) return refusal;
  return ok(rows.find(({ host_id }) => host_id !== null)?.host_id ?? null);
}

/**
 * Binds the volumes to the session and, those that lay nowhere yet, to its host. Doing it again changes nothing. The answer
 * has the sizes that were asked for.
 */
export async function takeVolumes(
  d1: D1Database,
  tenant: string,
  session: string,
  host: string,
  names: readonly string[],
): Promise<Answer<Record<string, number>>> {
  const db = drizzle(d1);
  const rows = names.map((name) => newRow(tenant, name, { host_id: host }));
  await db.batch([
    db
      .insert(uses)
      .values(names.map((name) => ({ tenant, name, session_id: session })))
      .onConflictDoNothing(),
    ...rows.map((row) => db.insert(volumes).values(row).onConflictDoNothing()),
    db
      .update(volumes)
      .set({ host_id: host })
      .where(and(named(tenant, names), isNull(volumes.host_id))),
  ]);
  const found = await db.select().from(volumes).where(named(tenant, names));
  const refusal =
    unusable(found) ??
    (found.some(({ host_id }) => host_id !== host)
      ? refuse("NO_HOST_AVAILABLE", "A volume has just been taken by another host", { retry_after_s: 1 })
      : null);
  if (refusal) {
    await releaseVolumes(d1, session);
    return refusal;
  }
  return ok(
    Object.fromEntries(found.flatMap(({ name, size_mb }) => (size_mb === null ? [] : [[name, size_mb]]))),
  );
}

export async function releaseVolumes(d1: D1Database, session: string): Promise<void> {
  await drizzle(d1).delete(uses).where(eq(uses.session_id, session));
}

/** From here on no session gets it; false while one has it. */
export async function beginDelete(d1: D1Database, tenant: string, name: string): Promise<boolean> {
  const db = drizzle(d1);
  const inUse = db
    .select({ one: sql`1` })
    .from(uses)
    .where(and(eq(uses.tenant, tenant), eq(uses.name, name)));
  const marked = await db
    .update(volumes)
    .set({ deleting: true })
    .where(and(named(tenant, [name]), notExists(inUse)))
    .returning({ id: volumes.id });
  return marked.length > 0;
}

export async function endDelete(
  d1: D1Database,
  tenant: string,
  name: string,
  removed: boolean,
): Promise<void> {
  const db = drizzle(d1);
  if (removed) await db.delete(volumes).where(named(tenant, [name]));
  else
    await db
      .update(volumes)
      .set({ deleting: false })
      .where(named(tenant, [name]));
}

const named = (tenant: string, names: readonly string[]) =>
  and(eq(volumes.tenant, tenant), inArray(volumes.name, [...names]));

function unusable(rows: Row[]) {
  const going = rows.find(({ deleting }) => deleting);
  if (going)
    return refuse("VOLUME_IN_USE", `The volume ${going.name} is being deleted`, { retry_after_s: 1 });
  const placed = rows.filter(({ host_id }) => host_id !== null);
  const other = placed.find(({ host_id }) => host_id !== placed[0]!.host_id);
  if (!other) return null;
  const [first] = placed;
  return refuse(
    "NO_HOST_AVAILABLE",
    `The volumes ${first!.name} and ${other.name} lie on different hosts (${first!.host_id}, ${other.host_id})`,
  );
}

function known({ tenant: _, deleting: __, ...row }: Row): KnownVolume {
  return row;
}

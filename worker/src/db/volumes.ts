/** @module Volumes in D1: their names, the one host that each lies on, and which sessions have them. */
import { type EffectivePolicy, newId, VOLUME_MB, type Volume } from "@sandbar/shared";
import { and, asc, eq, gt, inArray, notExists, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { type Answer, ok, type Refusal, refuse } from "../answer.ts";

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
/** Null: no limit. */
export type VolumeShares = Pick<EffectivePolicy["shares"], "volumes" | "volume_mb">;

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
  shares: VolumeShares,
): Promise<Answer<{ volume: KnownVolume; created: boolean }>> {
  const row = newRow(tenant, name, { size_mb: sizeMb });
  await insertWithin(d1, row, shares).run();
  const volume = await findVolume(d1, tenant, name);
  if (!volume) return overShare(d1, tenant, row, shares);
  return ok({ volume, created: volume.id === row.id });
}

export async function heldVolumes(
  d1: D1Database,
  tenant: string,
): Promise<{ count: number; size_mb: number }> {
  const [held] = await drizzle(d1)
    .select({ count: sql<number>`count(*)`, size_mb: SUM_MB })
    .from(volumes)
    .where(eq(volumes.tenant, tenant));
  return held!;
}

const SUM_MB = sql<number>`coalesce(sum(coalesce(size_mb, ${sql.raw(String(VOLUME_MB))})), 0)`;

/** Nothing when there is one of the name, or when the tenant would have more than its share: counted in the same step. */
function insertWithin(d1: D1Database, row: Row, { volumes: most, volume_mb }: VolumeShares) {
  return d1
    .prepare(
      `INSERT INTO volumes (id, tenant, name, host_id, size_mb, deleting, created_at)
       SELECT ?1, ?2, ?3, ?4, ?5, 0, ?6 FROM
         (SELECT count(*) AS n, coalesce(sum(coalesce(size_mb, ?7)), 0) AS mb FROM volumes WHERE tenant = ?2)
       WHERE (?8 IS NULL OR n < ?8) AND (?9 IS NULL OR mb + coalesce(?5, ?7) <= ?9)
       ON CONFLICT DO NOTHING`,
    )
    .bind(row.id, row.tenant, row.name, row.host_id, row.size_mb, row.created_at, VOLUME_MB, most, volume_mb);
}

async function overShare(d1: D1Database, tenant: string, row: Row, shares: VolumeShares): Promise<Refusal> {
  const { count, size_mb } = await heldVolumes(d1, tenant);
  if (shares.volumes !== null && count >= shares.volumes)
    return refuse("QUOTA_EXCEEDED", `volumes: this tenant has ${count}, and may have ${shares.volumes}`);
  return refuse(
    "QUOTA_EXCEEDED",
    `volume_mb: this tenant's volumes may hold ${size_mb} MB, and with ${row.size_mb ?? VOLUME_MB} for ${row.name} it would be more than ${shares.volume_mb}`,
  );
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
  shares: VolumeShares,
): Promise<Answer<Record<string, number>>> {
  const db = drizzle(d1);
  const rows = names.map((name) => newRow(tenant, name, { host_id: host }));
  const use = d1.prepare(
    "INSERT INTO volume_uses (tenant, name, session_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
  );
  const place = d1.prepare(
    "UPDATE volumes SET host_id = ? WHERE tenant = ? AND name = ? AND host_id IS NULL",
  );
  await d1.batch([
    ...names.map((name) => use.bind(tenant, name, session)),
    ...rows.map((row) => insertWithin(d1, row, shares)),
    ...names.map((name) => place.bind(host, tenant, name)),
  ]);
  const found = await db.select().from(volumes).where(named(tenant, names));
  const missing = rows.find(({ name }) => !found.some((row) => row.name === name));
  const refusal =
    (missing ? await overShare(d1, tenant, missing, shares) : null) ??
    unusable(found) ??
    (found.some(({ host_id }) => host_id !== host)
      ? refuse("NO_HOST_AVAILABLE", "A volume has just been taken by another host", { retry_after_s: 1 })
      : null);
  if (refusal) {
    await releaseVolumes(d1, session);
    // No volume of this request is left that nobody has heard of.
    const unused = d1.prepare(
      "DELETE FROM volumes WHERE id = ? AND NOT EXISTS (SELECT 1 FROM volume_uses u WHERE u.tenant = volumes.tenant AND u.name = volumes.name)",
    );
    await d1.batch(rows.map(({ id }) => unused.bind(id)));
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

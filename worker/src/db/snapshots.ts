/** @module Snapshots in D1: their rows, and which content each of them needs. */
import type { Chunk, Snapshot } from "@sandbar/shared";
import { and, desc, eq, gt, gte, lt, or, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { ArtifactLimits } from "../artifacts/settings.ts";
import type { BlobRow } from "./artifact-tables.ts";
import { tenantScope } from "./artifacts.ts";
import { type SnapshotRow, type SnapshotSummary, snapshots } from "./snapshot-tables.ts";

/** Of a manifest whose row says that it is stored. */
export type ReadySnapshot = SnapshotRow & { digest: string; summary: SnapshotSummary };

export type NewSnapshot = Omit<SnapshotRow, "state" | "digest" | "summary" | "new_bytes">;

/** False when the tenant may have no more. A request that was made before has its row already. */
export async function addSnapshot(
  d1: D1Database,
  row: NewSnapshot,
  { tenantBytes, tenantCount }: ArtifactLimits,
): Promise<SnapshotRow | null> {
  const { id, tenant, session_id, name, request_key, created_at, expires_at } = row;
  const answers = await d1.batch<SnapshotRow>([
    d1
      .prepare(
        `INSERT INTO storage_totals (scope, max_bytes, max_count) VALUES (?, ?, ?)
         ON CONFLICT (scope) DO UPDATE SET max_bytes = excluded.max_bytes, max_count = excluded.max_count`,
      )
      .bind(tenantScope(tenant), tenantBytes, tenantCount),
    d1
      .prepare(
        `INSERT INTO snapshots (id, tenant, session_id, state, name, request_key, created_at, expires_at)
         SELECT ?1, ?2, ?3, 'writing', ?4, ?5, ?6, ?7
         WHERE ?5 IS NULL OR NOT EXISTS (SELECT 1 FROM snapshots WHERE session_id = ?3 AND request_key = ?5)`,
      )
      .bind(id, tenant, session_id, name, request_key, created_at, expires_at),
    d1
      .prepare("SELECT * FROM snapshots WHERE id = ? OR (session_id = ? AND request_key = ?)")
      .bind(id, session_id, request_key),
  ]);
  const found = answers[2]!.results[0];
  return found ? fromRow(found as unknown as RawRow) : null;
}

type RawRow = Omit<SnapshotRow, "summary"> & { summary: string | null };
const fromRow = (row: RawRow): SnapshotRow => ({
  ...row,
  summary: row.summary === null ? null : JSON.parse(row.summary),
});

/** Null when there is none, also when it is not complete. */
export async function findSnapshot(
  d1: D1Database,
  tenant: string,
  id: string,
): Promise<ReadySnapshot | null> {
  const rows = await drizzle(d1)
    .select()
    .from(snapshots)
    .where(and(eq(snapshots.id, id), eq(snapshots.tenant, tenant), alive()))
    .limit(1);
  return (rows[0] as ReadySnapshot | undefined) ?? null;
}

/** Of what became of variables, which may be long. */
const PAGE_LIMIT_CHARS = 4_000_000;

/** A page, newest first: at most `limit`, and fewer when they are large, since an answer has a largest size. */
export async function listSnapshots(
  d1: D1Database,
  tenant: string,
  filter: { readonly session_id?: string | undefined; readonly name?: string | undefined },
  before: string | null,
  limit: number,
): Promise<{ data: ReadySnapshot[]; next_cursor: string | null }> {
  const conditions = [eq(snapshots.tenant, tenant), alive()];
  if (filter.session_id !== undefined) conditions.push(eq(snapshots.session_id, filter.session_id));
  if (filter.name !== undefined) conditions.push(eq(snapshots.name, filter.name));
  if (before !== null) conditions.push(lt(snapshots.id, before));
  const sizes = await drizzle(d1)
    .select({ id: snapshots.id, chars: sql<number>`length(${snapshots.summary})` })
    .from(snapshots)
    .where(and(...conditions))
    .orderBy(desc(snapshots.id))
    .limit(limit + 1);
  let chars = 0;
  const fitting = sizes.slice(0, limit).filter((size, index) => {
    chars += size.chars;
    return index === 0 || chars <= PAGE_LIMIT_CHARS;
  });
  const last = fitting.at(-1);
  if (!last) return { data: [], next_cursor: null };
  const rows = await drizzle(d1)
    .select()
    .from(snapshots)
    .where(and(...conditions, gte(snapshots.id, last.id)))
    .orderBy(desc(snapshots.id));
  return { data: rows as ReadySnapshot[], next_cursor: fitting.length < sizes.length ? last.id : null };
}

const alive = () => and(eq(snapshots.state, "ready"), gt(snapshots.expires_at, new Date().toISOString()));

/** Expired ones, and those that nobody has finished in time. */
export function overdueSnapshots(
  d1: D1Database,
  now: string,
  abandoned: string,
  limit: number,
): Promise<Pick<SnapshotRow, "id" | "tenant" | "state">[]> {
  return drizzle(d1)
    .select({ id: snapshots.id, tenant: snapshots.tenant, state: snapshots.state })
    .from(snapshots)
    .where(
      or(
        and(eq(snapshots.state, "ready"), lt(snapshots.expires_at, now)),
        and(eq(snapshots.state, "writing"), lt(snapshots.created_at, abandoned)),
      ),
    )
    .limit(limit);
}

/** Whose snapshot is being written, and by whom. */
export interface Writing {
  readonly tenant: string;
  readonly session: string;
  readonly snapshot: string;
}

/**
 * Keeps for the snapshot what the tenant has of these chunks; from now on no deletion takes it. Answers which it has
 * kept; null when nobody is writing such a snapshot.
 */
export async function keepChunks(
  d1: D1Database,
  { tenant, session, snapshot }: Writing,
  chunks: readonly Chunk[],
  before: readonly D1PreparedStatement[] = [],
): Promise<Set<string> | null> {
  const json = JSON.stringify(chunks);
  const answers = await d1.batch<{ sha256: string }>([
    ...before,
    d1
      .prepare(
        `INSERT OR IGNORE INTO snapshot_chunks (tenant, sha256, snapshot_id, size)
         SELECT b.tenant, b.sha256, s.id, b.size FROM json_each(?1) AS c
         CROSS JOIN blobs AS b ON b.tenant = ?2 AND b.sha256 = c.value->>0 AND b.size = c.value->>1
         CROSS JOIN snapshots AS s ON s.id = ?4 AND s.tenant = ?2 AND s.session_id = ?3 AND s.state = 'writing'`,
      )
      .bind(json, tenant, session, snapshot),
    d1
      .prepare(
        `SELECT k.sha256 FROM json_each(?1) AS c
         CROSS JOIN snapshot_chunks AS k ON k.tenant = ?2 AND k.sha256 = c.value->>0 AND k.snapshot_id = ?3`,
      )
      .bind(json, tenant, snapshot),
    d1
      .prepare(
        "SELECT id AS sha256 FROM snapshots WHERE id = ? AND tenant = ? AND session_id = ? AND state = 'writing'",
      )
      .bind(snapshot, tenant, session),
  ]);
  if (answers.at(-1)!.results.length === 0) return null;
  return new Set(answers.at(-2)!.results.map(({ sha256 }) => sha256));
}

/** Its time begins now. False when it was finished before, given up, or never begun. */
export async function finishSnapshot(
  d1: D1Database,
  { tenant, session, snapshot }: Writing,
  digest: string,
  summary: SnapshotSummary,
): Promise<boolean> {
  const { meta } = await d1
    .prepare(
      `UPDATE snapshots SET state = 'ready', digest = ?4, summary = ?5, expires_at = strftime(
         '%Y-%m-%dT%H:%M:%fZ', ?6, (unixepoch(expires_at) - unixepoch(created_at)) || ' seconds')
       WHERE id = ?3 AND tenant = ?1 AND session_id = ?2 AND state = 'writing'`,
    )
    .bind(tenant, session, snapshot, digest, JSON.stringify(summary), new Date().toISOString())
    .run();
  return meta.changes > 0;
}

/** Where the chunks of a snapshot lie that it really has. */
export async function chunkBlobs(
  d1: D1Database,
  tenant: string,
  snapshot: string,
  chunks: readonly string[],
): Promise<Map<string, BlobRow>> {
  const { results } = await d1
    .prepare(
      `SELECT b.* FROM json_each(?1) AS c
       CROSS JOIN snapshot_chunks AS k ON k.tenant = ?2 AND k.sha256 = c.value AND k.snapshot_id = ?3
       CROSS JOIN blobs AS b ON b.tenant = k.tenant AND b.sha256 = k.sha256`,
    )
    .bind(JSON.stringify(chunks), tenant, snapshot)
    .all<BlobRow>();
  return new Map(results.map((row) => [row.sha256, row]));
}

/** As the API shows it. */
export function shownSnapshot({ summary, ...row }: ReadySnapshot): Snapshot {
  const { id, digest, name, session_id, new_bytes, created_at, expires_at } = row;
  return { id, digest, name, session_id, ...summary, new_bytes, created_at, expires_at };
}

/** @module Artifacts in D1. */
import { type Artifact, type IngestFile, newId } from "@sandbar/shared";
import { and, desc, eq, gt, isNull, lt, or, type SQL } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Used } from "../artifacts/admission.ts";
import type { ArtifactLimits } from "../artifacts/settings.ts";
import { type ArtifactRow, artifacts, storageTotals } from "./artifact-tables.ts";

export interface Owner {
  readonly tenant: string;
  readonly session: string;
}

export const tenantScope = (tenant: string) => `t/${tenant}`;
const sessionScope = (session: string) => `s/${session}`;

// CROSS JOIN, because SQLite then keeps the order: each file by its index, not each row of the table by every file.

/** What is known of files that a host would like to bring. */
export async function lookUpFiles(
  d1: D1Database,
  { tenant, session }: Owner,
  files: readonly IngestFile[],
): Promise<{ recorded: Set<number>; unknown: string[]; used: Used }> {
  const json = JSON.stringify(files.map(({ name, sha256, version }) => ({ name, sha256, version })));
  // One statement, because D1 takes longer around each than this takes in it.
  const row = await d1
    .prepare(
      `SELECT
         (SELECT json_group_array(f.key) FROM json_each(?1) AS f CROSS JOIN artifacts AS a ON a.session_id = ?3
            AND a.name = f.value->>'name' AND a.sha256 = f.value->>'sha256' AND a.version = f.value->>'version'
            AND (a.expires_at IS NULL OR a.expires_at > ?6)
         ) AS recorded,
         (SELECT json_group_array(DISTINCT f.value->>'sha256') FROM json_each(?1) AS f WHERE NOT EXISTS
            (SELECT 1 FROM blobs AS b WHERE b.tenant = ?2 AND b.sha256 = f.value->>'sha256')) AS unknown,
         (SELECT json_group_object(scope, json_object('bytes', bytes, 'count', count)) FROM storage_totals
            WHERE scope IN (?4, ?5)) AS totals`,
    )
    .bind(json, tenant, session, tenantScope(tenant), sessionScope(session), new Date().toISOString())
    .first<{ recorded: string; unknown: string; totals: string }>();
  const totals: Record<string, { bytes: number; count: number }> = JSON.parse(row!.totals);
  return {
    recorded: new Set<number>(JSON.parse(row!.recorded)),
    unknown: JSON.parse(row!.unknown),
    used: {
      sessionBytes: totals[sessionScope(session)]?.bytes ?? 0,
      tenantBytes: totals[tenantScope(tenant)]?.bytes ?? 0,
      tenantCount: totals[tenantScope(tenant)]?.count ?? 0,
    },
  };
}

export interface RecordOptions {
  readonly execution: string | null;
  readonly limits: ArtifactLimits;
  readonly ttlMs: number | null;
  /** Statements that must come true with it. */
  readonly before: readonly D1PreparedStatement[];
}

/**
 * Records files whose content is stored, in one transaction. A file that was recorded before keeps its first record,
 * unless that has expired; one whose content is gone, or that would break a quota, is left out.
 */
export async function recordFiles(
  d1: D1Database,
  { tenant, session }: Owner,
  { execution, limits, ttlMs, before }: RecordOptions,
  files: readonly IngestFile[],
): Promise<{ index: number; artifact: ArtifactRow }[]> {
  const now = Date.now();
  const created = new Date(now).toISOString();
  const json = JSON.stringify(files.map((file) => ({ ...file, id: newId("art") })));
  const answers = await d1.batch([
    ...before,
    d1
      .prepare(
        `INSERT INTO storage_totals (scope, max_bytes, max_count) VALUES (?, ?, ?), (?, ?, ?)
         ON CONFLICT (scope) DO UPDATE SET max_bytes = excluded.max_bytes, max_count = excluded.max_count`,
      )
      .bind(
        tenantScope(tenant),
        limits.tenantBytes,
        limits.tenantCount,
        sessionScope(session),
        limits.sessionBytes,
        Number.MAX_SAFE_INTEGER,
      ),
    d1
      .prepare(
        `INSERT OR IGNORE INTO artifacts
           (id, tenant, session_id, execution_id, name, size, mime, sha256, version, created_at, expires_at)
         SELECT f.value->>'id', ?2, ?3, ?4, f.value->>'name', b.size, f.value->>'mime', b.sha256, f.value->>'version', ?5, ?6
         FROM json_each(?1) AS f CROSS JOIN blobs AS b ON b.tenant = ?2 AND b.sha256 = f.value->>'sha256'
         WHERE true ORDER BY f.key
         ON CONFLICT (session_id, name, sha256, version) DO UPDATE SET id = excluded.id, execution_id = excluded.execution_id,
           created_at = excluded.created_at, expires_at = excluded.expires_at WHERE artifacts.expires_at <= excluded.created_at`,
      )
      .bind(
        json,
        tenant,
        session,
        execution,
        created,
        ttlMs === null ? null : new Date(now + ttlMs).toISOString(),
      ),
    d1
      .prepare(
        `SELECT f.key AS position, a.* FROM json_each(?1) AS f CROSS JOIN artifacts AS a ON a.session_id = ?2
           AND a.name = f.value->>'name' AND a.sha256 = f.value->>'sha256' AND a.version = f.value->>'version'
           AND (a.expires_at IS NULL OR a.expires_at > ?3)`,
      )
      .bind(json, session, created),
  ]);
  return (answers.at(-1)!.results as unknown as (ArtifactRow & { position: number })[]).map(
    ({ position, ...artifact }) => ({ index: position, artifact }),
  );
}

export type Descriptor = Omit<Artifact, "url">;

export function descriptor({ tenant: _, version: __, ...row }: ArtifactRow): Descriptor {
  return row;
}

export async function findArtifact(d1: D1Database, tenant: string, id: string): Promise<ArtifactRow | null> {
  const rows = await drizzle(d1)
    .select()
    .from(artifacts)
    .where(and(eq(artifacts.id, id), eq(artifacts.tenant, tenant), alive()))
    .limit(1);
  return rows[0] ?? null;
}

export interface ArtifactFilter {
  readonly session_id?: string | undefined;
  readonly execution_id?: string | undefined;
  readonly name?: string | undefined;
  readonly sha256?: string | undefined;
}

/** Newest first. */
export async function listArtifacts(
  d1: D1Database,
  tenant: string,
  filter: ArtifactFilter,
  before: string | null,
  limit: number,
): Promise<Descriptor[]> {
  const conditions: SQL[] = Object.entries(filter)
    .filter(([, value]) => value !== undefined)
    .map(([column, value]) => eq(artifacts[column as keyof ArtifactFilter], value as string));
  const rows = await drizzle(d1)
    .select()
    .from(artifacts)
    .where(
      and(
        eq(artifacts.tenant, tenant),
        alive(),
        before === null ? undefined : lt(artifacts.id, before),
        ...conditions,
      ),
    )
    .orderBy(desc(artifacts.id))
    .limit(limit);
  return rows.map(descriptor);
}

export function expiredArtifacts(
  d1: D1Database,
  now: string,
  limit: number,
): Promise<Pick<ArtifactRow, "id" | "tenant" | "session_id" | "sha256">[]> {
  return drizzle(d1)
    .select({
      id: artifacts.id,
      tenant: artifacts.tenant,
      session_id: artifacts.session_id,
      sha256: artifacts.sha256,
    })
    .from(artifacts)
    .where(lt(artifacts.expires_at, now))
    .limit(limit);
}

export async function storedBy(d1: D1Database, tenant: string): Promise<{ bytes: number; count: number }> {
  const rows = await drizzle(d1)
    .select({ bytes: storageTotals.bytes, count: storageTotals.count })
    .from(storageTotals)
    .where(eq(storageTotals.scope, tenantScope(tenant)));
  return rows[0] ?? { bytes: 0, count: 0 };
}

const alive = () => or(isNull(artifacts.expires_at), gt(artifacts.expires_at, new Date().toISOString()));

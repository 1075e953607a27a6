/** @module D1's copy of the sessions: lists and usage. */
import type { Language, Session } from "@sandbar/shared";
import { and, type Column, count, desc, eq, getTableColumns, inArray, lt, sql, sum } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { expiresAt, hasEnded, type LifeState } from "../session/machine.ts";
import { type Activity, abilities, type SessionRecord } from "../session/record.ts";
import { networkOf } from "../session/spec.ts";
import { sessions } from "./schema.ts";

type Row = typeof sessions.$inferSelect;

const COLUMNS = Object.entries(getTableColumns(sessions)) as [keyof Row, Column][];
const FIXED = new Set<keyof Row>(["id", "tenant", "key", "runtime", "labels", "created_at", "created_by"]);
/** Made once: every creation waits for it, and to build the statement takes longer than to send it. */
const UPSERT = `INSERT INTO sessions (${COLUMNS.map(([name]) => name).join()})
  VALUES (${COLUMNS.map(() => "?").join()}) ON CONFLICT (id) DO UPDATE SET
  ${COLUMNS.flatMap(([name]) => (FIXED.has(name) ? [] : `${name} = excluded.${name}`)).join()}`;

export async function mirrorSession(
  d1: D1Database,
  session: SessionRecord,
  activity: Readonly<Activity>,
): Promise<void> {
  const { env: _, ...spec } = session.spec;
  const row: Row = {
    id: session.id,
    tenant: session.tenant,
    key: session.key,
    runtime: session.spec.runtime,
    status: session.state,
    host_id: session.host_id,
    image: session.image ?? session.spec.image,
    labels: session.labels,
    spec: { ...spec, ...abilities(spec, session) },
    created_at: iso(session.created_at),
    last_used_at: iso(activity.last_used_at),
    ended_at: session.ended_at === null ? null : iso(session.ended_at),
    error: session.error,
    executions: activity.executions,
    execution_ms: activity.execution_ms,
    output_bytes: activity.output_bytes,
    created_by: session.created_by ?? null,
  };
  const values = COLUMNS.map(([name, column]) =>
    row[name] === null ? null : column.mapToDriverValue(row[name]),
  );
  await d1
    .prepare(UPSERT)
    .bind(...values)
    .run();
}

export interface SessionFilter {
  readonly key?: string | undefined;
  readonly states?: LifeState[] | undefined;
  readonly label?: readonly [name: string, value: string] | undefined;
}

export async function listSessions(
  d1: D1Database,
  tenant: string,
  filter: SessionFilter,
  before: string | null,
  limit: number,
): Promise<Session[]> {
  const rows = await drizzle(d1)
    .select()
    .from(sessions)
    .where(
      and(
        eq(sessions.tenant, tenant),
        before === null ? undefined : lt(sessions.id, before),
        filter.key === undefined ? undefined : eq(sessions.key, filter.key),
        filter.states === undefined ? undefined : inArray(sessions.status, filter.states),
        filter.label === undefined
          ? undefined
          : sql`EXISTS (SELECT 1 FROM json_each(${sessions.labels}) AS l WHERE l.key = ${filter.label[0]} AND l.value = ${filter.label[1]})`,
      ),
    )
    .orderBy(desc(sessions.id))
    .limit(limit);
  return rows.map(toSession);
}

export async function usageOf(d1: D1Database, tenant: string) {
  const [row] = await drizzle(d1)
    .select({
      sessions: count(),
      live: sum(sql`${sessions.status} NOT IN ('stopped', 'lost', 'failed')`).mapWith(Number),
      executions: sum(sessions.executions).mapWith(Number),
      milliseconds: sum(sessions.execution_ms).mapWith(Number),
      bytes: sum(sessions.output_bytes).mapWith(Number),
    })
    .from(sessions)
    .where(eq(sessions.tenant, tenant));
  return {
    tenant,
    sessions: row?.sessions ?? 0,
    live_sessions: row?.live ?? 0,
    executions: row?.executions ?? 0,
    seconds: (row?.milliseconds ?? 0) / 1000,
    bytes: row?.bytes ?? 0,
  };
}

function toSession(row: Row): Session {
  const { spec } = row;
  const times = {
    ...spec,
    created_at: Date.parse(row.created_at),
    last_used_at: Date.parse(row.last_used_at),
  };
  return {
    id: row.id,
    key: row.key,
    runtime: row.runtime as Language,
    ...abilities(spec, spec),
    image: row.image,
    status: row.status,
    host_id: row.host_id,
    storage: spec.storage,
    datasets: { access: spec.dataset_access },
    network: networkOf(spec),
    limits: spec.limits,
    dependencies: spec.dependencies,
    labels: row.labels,
    created_by: row.created_by,
    created_at: row.created_at,
    last_used_at: row.last_used_at,
    expires_at: hasEnded(row.status) ? null : iso(expiresAt(times)),
    ...(row.error ? { error: row.error } : {}),
  };
}

const iso = (ms: number) => new Date(ms).toISOString();

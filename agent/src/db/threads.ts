/** @module The list of threads in D1. Whether a thread exists is decided here; what is in it, its object knows. */

export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

export interface ThreadRow {
  readonly thread_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly state_updated_at: string;
  readonly metadata: Record<string, unknown>;
  readonly status: ThreadStatus;
}

type Stored = Omit<ThreadRow, "metadata"> & { metadata: string };

const COLUMNS = "thread_id, created_at, updated_at, state_updated_at, metadata, status";
const shown = (row: Stored): ThreadRow => ({ ...row, metadata: JSON.parse(row.metadata) });

/** Null when the tenant has one of this id. */
export async function addThread(
  d1: D1Database,
  tenant: string,
  thread_id: string,
  metadata: Record<string, unknown>,
): Promise<ThreadRow | null> {
  const now = new Date().toISOString();
  const row = await d1
    .prepare(
      `INSERT INTO threads (tenant, ${COLUMNS}) VALUES (?1, ?2, ?3, ?3, ?3, ?4, 'idle')
       ON CONFLICT DO NOTHING RETURNING ${COLUMNS}`,
    )
    .bind(tenant, thread_id, now, JSON.stringify(metadata))
    .first<Stored>();
  return row && shown(row);
}

export async function findThread(
  d1: D1Database,
  tenant: string,
  thread_id: string,
): Promise<ThreadRow | null> {
  const row = await d1
    .prepare(`SELECT ${COLUMNS} FROM threads WHERE tenant = ? AND thread_id = ?`)
    .bind(tenant, thread_id)
    .first<Stored>();
  return row && shown(row);
}

/** Adds to the metadata; null when there is no such thread. */
export async function patchThread(
  d1: D1Database,
  tenant: string,
  thread_id: string,
  metadata: Record<string, unknown>,
): Promise<ThreadRow | null> {
  const row = await d1
    .prepare(
      `UPDATE threads SET metadata = json_patch(metadata, ?), updated_at = ?
       WHERE tenant = ? AND thread_id = ? RETURNING ${COLUMNS}`,
    )
    .bind(JSON.stringify(metadata), new Date().toISOString(), tenant, thread_id)
    .first<Stored>();
  return row && shown(row);
}

/** A title that is there already stays. */
export async function noteThread(
  d1: D1Database,
  tenant: string,
  thread_id: string,
  { status, title }: { status: ThreadStatus; title: string | null },
): Promise<void> {
  const now = new Date().toISOString();
  const set = JSON.stringify(title === null ? {} : { title });
  await d1
    .prepare(
      `UPDATE threads SET status = ?1, updated_at = ?2, state_updated_at = ?2, metadata = json_patch(?3, metadata)
       WHERE tenant = ?4 AND thread_id = ?5`,
    )
    .bind(status, now, set, tenant, thread_id)
    .run();
}

export async function removeThread(d1: D1Database, tenant: string, thread_id: string): Promise<void> {
  await d1.prepare("DELETE FROM threads WHERE tenant = ? AND thread_id = ?").bind(tenant, thread_id).run();
}

export interface ThreadFilter {
  readonly metadata?: Record<string, unknown>;
  readonly status?: ThreadStatus;
  readonly ids?: readonly string[];
}

export const SORTABLE = ["thread_id", "status", "created_at", "updated_at", "state_updated_at"] as const;

export async function searchThreads(
  d1: D1Database,
  tenant: string,
  filter: ThreadFilter,
  page: { limit: number; offset: number; sort_by: (typeof SORTABLE)[number]; sort_order: "asc" | "desc" },
): Promise<ThreadRow[]> {
  const { where, values } = condition(tenant, filter);
  const order = `${page.sort_by} ${page.sort_order}, thread_id`;
  const { results } = await d1
    .prepare(`SELECT ${COLUMNS} FROM threads WHERE ${where} ORDER BY ${order} LIMIT ? OFFSET ?`)
    .bind(...values, page.limit, page.offset)
    .all<Stored>();
  return results.map(shown);
}

export async function countThreads(d1: D1Database, tenant: string, filter: ThreadFilter): Promise<number> {
  const { where, values } = condition(tenant, filter);
  const row = await d1
    .prepare(`SELECT count(*) AS n FROM threads WHERE ${where}`)
    .bind(...values)
    .first<{ n: number }>();
  return row?.n ?? 0;
}

function condition(tenant: string, { metadata = {}, status, ids }: ThreadFilter) {
  const parts = ["tenant = ?"];
  const values: unknown[] = [tenant];
  if (status) {
    parts.push("status = ?");
    values.push(status);
  }
  if (ids) {
    parts.push("thread_id IN (SELECT value FROM json_each(?))");
    values.push(JSON.stringify(ids));
  }
  for (const [name, value] of Object.entries(metadata)) {
    // As JSON on both sides, so that 1 and "1" differ and objects compare whole.
    parts.push("metadata -> ? = json(?)");
    values.push(`$.${JSON.stringify(name)}`, JSON.stringify(value));
  }
  return { where: parts.join(" AND "), values };
}

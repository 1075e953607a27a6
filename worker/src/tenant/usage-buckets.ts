/** @module What a tenant used, by minute and by hour. */
import type { SERIES_STEPS, UsagePoint } from "@sandbar/shared";
import { countLatency, type Latencies, mergeLatencies, percentile } from "./latencies.ts";

const MINUTE = 60_000;
const HOUR = 3_600_000;
/** How long they are kept. */
const KEPT: Record<number, number> = { [MINUTE]: 48 * HOUR, [HOUR]: 90 * 24 * HOUR };
const PRUNE_MS = HOUR;
/** The step of the one row that has what hours had which are not kept any more. */
const GONE = 0;

const SCHEMA = `CREATE TABLE IF NOT EXISTS usage (step INTEGER NOT NULL, at INTEGER NOT NULL, live INTEGER NOT NULL,
  json TEXT NOT NULL, PRIMARY KEY (step, at)) WITHOUT ROWID`;

export interface Bucket {
  executions: number;
  errors: Record<string, number>;
  latencies: Latencies;
  artifacts: number;
  artifact_bytes: number;
  /** Missing in those of before it was counted. */
  egress_bytes?: number;
  created: number;
  peak: number;
}

/** One thing that happened, and when. */
export type UsageFact = { readonly at: number } & (
  | { readonly ended: { readonly error_code: string | null; readonly duration_ms: number | null } }
  | { readonly artifact: number }
  | { readonly egress: number }
  | { readonly created: true }
);

export interface SeriesQuery {
  readonly from: number;
  readonly to: number;
  readonly step_s: (typeof SERIES_STEPS)[number];
}

/** Since the tenant's first session, except what hosts with wrong clocks told too late. */
export interface UsageTotals extends Omit<Bucket, "peak"> {
  /** Executions that have not ended. */
  readonly open: number;
}

export class UsageBuckets {
  readonly #sql: SqlStorage;
  #total: Bucket | null = null;
  #prunedAt = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(SCHEMA);
  }

  /** `before` and `live`: how many sessions lived before these facts, and live now. */
  add(facts: readonly UsageFact[], before: number, live: number, now: number): void {
    if (facts.length === 0 && before === live) return;
    for (const step of [MINUTE, HOUR]) {
      // Hosts have clocks of their own.
      const groups = Map.groupBy(facts, ({ at }) => floor(Math.min(at, now), step));
      const current = floor(now, step);
      if (!groups.has(current)) groups.set(current, []);
      for (const [at, group] of groups) {
        if (at < now - KEPT[step]!) continue;
        const row = this.#row(step, at);
        // A bucket begins with those that live already; of one that is over, that is not known any more.
        const bucket = row?.bucket ?? empty(at === current ? before : this.#liveAt(at));
        for (const fact of group) count(bucket, fact);
        if (step === HOUR && this.#total) for (const fact of group) count(this.#total, fact);
        if (at === current) bucket.peak = Math.max(bucket.peak, before, live);
        this.#save(step, at, at === current ? live : (row?.live ?? bucket.peak), bucket);
      }
    }
    if (now - this.#prunedAt > PRUNE_MS) this.#prune(now);
  }

  /** Since this moment, which begins an hour. */
  egressSince(from: number): number {
    return (
      this.#sql
        .exec<{ bytes: number | null }>(
          "SELECT sum(json_extract(json, '$.egress_bytes')) AS bytes FROM usage WHERE step = ? AND at >= ?",
          HOUR,
          from,
        )
        .one().bytes ?? 0
    );
  }

  series({ from, to, step_s }: SeriesQuery, now: number): UsagePoint[] {
    const step = step_s * 1000;
    const table = Math.min(step, HOUR);
    const first = floor(Math.max(from, now - KEPT[table]!), step);
    const rows = this.#sql
      .exec<{ at: number; live: number; json: string }>(
        "SELECT at, live, json FROM usage WHERE step = ? AND at >= ? AND at < ? ORDER BY at",
        table,
        first,
        to,
      )
      .toArray();
    const points: UsagePoint[] = [];
    let live = this.#liveAt(first);
    let next = 0;
    for (let at = first; at < to; at += step) {
      const total = empty(live);
      for (; next < rows.length && rows[next]!.at < at + step; next++) {
        merge(total, JSON.parse(rows[next]!.json));
        live = rows[next]!.live;
      }
      points.push(toPoint(at, total));
    }
    return points;
  }

  /** Everything so far: what is kept by the hour, and what was kept. */
  total(): Bucket {
    if (this.#total) return this.#total;
    const total = this.#row(GONE, 0)?.bucket ?? empty(0);
    this.#mergeHours(total, Number.MAX_SAFE_INTEGER);
    this.#total = total;
    return total;
  }

  #mergeHours(into: Bucket, before: number): void {
    for (const { json } of this.#sql.exec<{ json: string }>(
      "SELECT json FROM usage WHERE step = ? AND at < ?",
      HOUR,
      before,
    ))
      merge(into, JSON.parse(json));
  }

  /** How many sessions lived when this moment began: what the bucket says that was over last, not one that it lies in. */
  #liveAt(at: number): number {
    const over = [MINUTE, HOUR].flatMap((step) =>
      this.#sql
        .exec<{ end: number; live: number }>(
          "SELECT at + step AS end, live FROM usage WHERE step = ? AND at <= ? ORDER BY at DESC LIMIT 1",
          step,
          at - step,
        )
        .toArray(),
    );
    return over.toSorted((a, b) => b.end - a.end)[0]?.live ?? 0;
  }

  #row(step: number, at: number): { live: number; bucket: Bucket } | null {
    const row = this.#sql
      .exec<{ live: number; json: string }>(
        "SELECT live, json FROM usage WHERE step = ? AND at = ?",
        step,
        at,
      )
      .toArray()[0];
    return row ? { live: row.live, bucket: JSON.parse(row.json) } : null;
  }

  #save(step: number, at: number, live: number, bucket: Bucket): void {
    this.#sql.exec(
      "INSERT OR REPLACE INTO usage VALUES (?, ?, ?, ?)",
      step,
      at,
      live,
      JSON.stringify(bucket),
    );
  }

  #prune(now: number): void {
    this.#prunedAt = now;
    const oldest = now - KEPT[HOUR]! - HOUR;
    const gone = this.#row(GONE, 0)?.bucket ?? empty(0);
    this.#mergeHours(gone, oldest);
    if (gone.executions > 0 || gone.created > 0) this.#save(GONE, 0, 0, gone);
    for (const step of [MINUTE, HOUR])
      this.#sql.exec("DELETE FROM usage WHERE step = ? AND at < ?", step, now - KEPT[step]! - step);
  }
}

function count(bucket: Bucket, fact: UsageFact): void {
  if ("created" in fact) bucket.created++;
  else if ("egress" in fact) bucket.egress_bytes = (bucket.egress_bytes ?? 0) + fact.egress;
  else if ("artifact" in fact) {
    bucket.artifacts++;
    bucket.artifact_bytes += fact.artifact;
  } else {
    const { error_code, duration_ms } = fact.ended;
    bucket.executions++;
    if (error_code !== null) bucket.errors[error_code] = (bucket.errors[error_code] ?? 0) + 1;
    if (duration_ms !== null) countLatency(bucket.latencies, duration_ms);
  }
}

function merge(into: Bucket, from: Bucket): void {
  into.executions += from.executions;
  for (const [code, n] of Object.entries(from.errors)) into.errors[code] = (into.errors[code] ?? 0) + n;
  mergeLatencies(into.latencies, from.latencies);
  into.artifacts += from.artifacts;
  into.artifact_bytes += from.artifact_bytes;
  if (from.egress_bytes !== undefined) into.egress_bytes = (into.egress_bytes ?? 0) + from.egress_bytes;
  into.created += from.created;
  into.peak = Math.max(into.peak, from.peak);
}

function toPoint(at: number, bucket: Bucket): UsagePoint {
  return {
    at: new Date(at).toISOString(),
    executions: bucket.executions,
    errors: bucket.errors,
    p50_ms: percentile(bucket.latencies, 0.5),
    p95_ms: percentile(bucket.latencies, 0.95),
    artifacts: bucket.artifacts,
    artifact_bytes: bucket.artifact_bytes,
    egress_bytes: bucket.egress_bytes ?? 0,
    sessions_created: bucket.created,
    sessions_peak: bucket.peak,
  };
}

function empty(peak: number): Bucket {
  return { executions: 0, errors: {}, latencies: {}, artifacts: 0, artifact_bytes: 0, created: 0, peak };
}

const floor = (at: number, step: number) => at - (at % step);

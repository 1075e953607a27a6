import type { UsagePoint } from "@sandbar/shared";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { type ReactNode, useMemo, useState } from "react";
import { sandbar } from "../../api/client.ts";
import { keys } from "../../api/keys.ts";
import { mayOperate, useMe } from "../../api/me.ts";
import { useCrumbs } from "../../shell/crumbs.ts";
import { formatBytes } from "../../ui/bytes.tsx";
import { ErrorNote } from "../../ui/error-note.tsx";
import { Page } from "../../ui/page.tsx";
import { Segments } from "../../ui/segments.tsx";
import { Skeleton } from "../../ui/skeleton.tsx";
import { preciseDuration } from "../../ui/time.tsx";
import { ChartCard } from "./chart-card.tsx";
import { Health } from "./health.tsx";
import { Quotas } from "./quotas.tsx";
import { failedIn, type Summary, summarize } from "./summary.ts";
import { TenantChoice } from "./tenant-choice.tsx";

const HOUR_MS = 3600_000;
const RANGES = {
  "1h": { label: "1 h", ms: HOUR_MS, step: 60 },
  "24h": { label: "24 h", ms: 24 * HOUR_MS, step: 3600 },
  "7d": { label: "7 d", ms: 7 * 24 * HOUR_MS, step: 3600 },
  "30d": { label: "30 d", ms: 30 * 24 * HOUR_MS, step: 86400 },
} as const;
type Range = keyof typeof RANGES;

export function UsageRoom() {
  useCrumbs([{ label: "Usage" }]);
  const me = useMe();
  const [range, setRange] = useState<Range>("24h");
  const [tenant, setTenant] = useState(me.tenant);
  const series = useQuery({
    queryKey: [...keys.usage, "series", range, tenant],
    queryFn: () => {
      const { ms, step } = RANGES[range];
      return sandbar.usageSeries({ from: new Date(Date.now() - ms), step, tenant });
    },
    refetchInterval: 30_000,
    placeholderData: keepPreviousData,
  });
  return (
    <Page
      title="Usage"
      filters={
        <>
          <Segments
            label="Range"
            value={range}
            onChange={setRange}
            options={Object.entries(RANGES).map(([value, { label }]) => ({ value: value as Range, label }))}
          />
          {mayOperate(me) && <TenantChoice value={tenant} onChange={setTenant} />}
        </>
      }
    >
      <div className="-mx-4 -mb-4 min-h-0 flex-1 space-y-3 overflow-y-auto px-4 pb-4 sm:-mx-6 sm:px-6">
        {series.error && !series.data ? (
          <ErrorNote error={series.error} onRetry={() => void series.refetch()} />
        ) : (
          <OverTime points={series.data?.data} />
        )}
        <div className="grid gap-3 md:grid-cols-2 xl:grid-cols-3">
          <Errors points={series.data?.data} />
          <Quotas tenant={tenant} />
          <Health />
        </div>
      </div>
    </Page>
  );
}

const whole = (value: number) => value.toLocaleString(undefined, { maximumFractionDigits: 1 });

function OverTime({ points }: { points: readonly UsagePoint[] | undefined }) {
  const sums = useMemo(() => points && summarize(points), [points]);
  const charts = useMemo(() => points && chartsOf(points), [points]);
  if (!charts || !sums)
    return (
      <>
        <Skeleton className="h-15 w-full" />
        <div className="grid gap-3 lg:grid-cols-2">
          {["a", "b", "c", "d"].map((name) => (
            <Skeleton key={name} className="h-52 w-full" />
          ))}
        </div>
      </>
    );
  const { times, executions, latency, sessions, bytes } = charts;
  return (
    <>
      <Tiles sums={sums} />
      <div className="grid gap-3 lg:grid-cols-2">
        <ChartCard
          title="Executions"
          total={`${whole(sums.executions)}, of which ${whole(sums.failed)} failed`}
          times={times}
          series={executions}
          format={whole}
        />
        <ChartCard
          title="Latency"
          total={
            sums.p95_ms === null
              ? "nothing ran"
              : `median about ${preciseDuration(sums.p50_ms ?? 0)}, 95th percentile up to ${preciseDuration(sums.p95_ms)}`
          }
          times={times}
          series={latency}
          format={preciseDuration}
          steps="time"
        />
        <ChartCard
          title="Sessions"
          total={`at most ${whole(sums.sessions_peak)} at once, ${whole(sums.sessions_created)} made`}
          times={times}
          series={sessions}
          format={whole}
        />
        <ChartCard
          title="Artifacts"
          total={`${formatBytes(sums.artifact_bytes)} in ${whole(sums.artifacts)} files`}
          times={times}
          series={bytes}
          format={formatBytes}
          steps="bytes"
        />
      </div>
    </>
  );
}

function chartsOf(points: readonly UsagePoint[]) {
  return {
    times: points.map(({ at }) => Date.parse(at) / 1000),
    executions: [
      // Behind: all of them. Before: those that failed.
      {
        label: "executions",
        tone: "accent",
        kind: "bars",
        values: points.map(({ executions }) => executions),
      },
      { label: "failed", tone: "danger", kind: "bars", values: points.map(failedIn) },
    ],
    latency: [
      { label: "95th percentile", tone: "warn", kind: "line", values: points.map(({ p95_ms }) => p95_ms) },
      { label: "median", tone: "accent", kind: "line", values: points.map(({ p50_ms }) => p50_ms) },
    ],
    sessions: [
      // Behind the line.
      {
        label: "made",
        tone: "faint",
        kind: "bars",
        values: points.map(({ sessions_created }) => sessions_created),
      },
      {
        label: "at once",
        tone: "accent",
        kind: "line",
        values: points.map(({ sessions_peak }) => sessions_peak),
      },
    ],
    bytes: [
      {
        label: "kept",
        tone: "accent",
        kind: "bars",
        values: points.map(({ artifact_bytes }) => artifact_bytes),
      },
    ],
  } as const;
}

function Tiles({ sums }: { sums: Summary }) {
  const rate = sums.executions === 0 ? 0 : (100 * sums.failed) / sums.executions;
  return (
    <dl className="grid grid-cols-2 divide-line overflow-hidden rounded-lg border bg-surface sm:grid-cols-4 sm:divide-x">
      <Tile name="Executions">{whole(sums.executions)}</Tile>
      <Tile name="Failed">
        {whole(sums.failed)} <span className="text-sm font-normal text-muted">{whole(rate)} %</span>
      </Tile>
      <Tile name="Median">{sums.p50_ms === null ? "–" : preciseDuration(sums.p50_ms)}</Tile>
      <Tile name="Sessions at once">{whole(sums.sessions_peak)}</Tile>
    </dl>
  );
}

function Tile({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="px-3 py-2">
      <dt className="text-xs text-faint">{name}</dt>
      <dd className="text-lg font-semibold tabular-nums">{children}</dd>
    </div>
  );
}

function Errors({ points }: { points: readonly UsagePoint[] | undefined }) {
  const errors = useMemo(() => (points ? summarize(points).errors : []), [points]);
  const most = errors[0]?.count ?? 1;
  return (
    <section aria-label="Errors by code" className="rounded-lg border bg-surface px-3 py-2.5">
      <h2 className="mb-1.5 font-semibold">Errors by code</h2>
      {errors.length === 0 ? (
        <p className="text-muted">{points ? "None in this time." : "…"}</p>
      ) : (
        <ul className="space-y-1.5">
          {errors.slice(0, 8).map(({ code, count }) => (
            <li key={code}>
              <div className="flex justify-between gap-3">
                <code className="min-w-0 truncate text-xs">{code}</code>
                <span className="text-xs tabular-nums">{whole(count)}</span>
              </div>
              <div aria-hidden className="mt-0.5 h-1 rounded-full bg-hover">
                <div
                  className="h-full rounded-full bg-danger"
                  style={{ width: `${(100 * count) / most}%` }}
                />
              </div>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

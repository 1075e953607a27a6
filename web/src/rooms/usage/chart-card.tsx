import { lazy, Suspense, useState } from "react";
import { Skeleton } from "../../ui/skeleton.tsx";
import type { AxisSteps } from "./axis-steps.ts";
import type { ChartSeries } from "./chart.tsx";

const Chart = lazy(() => import("./chart.tsx"));

/** One chart with what it comes to. Whoever does not see it reads the same as a table. */
export function ChartCard({
  title,
  total,
  times,
  series,
  format,
  steps,
}: {
  title: string;
  /** In words and numbers, when the mouse is at no point. */
  total: string;
  times: readonly number[];
  series: readonly ChartSeries[];
  format: (value: number) => string;
  steps?: AxisSteps;
}) {
  const [point, setPoint] = useState<number | null>(null);
  const [asTable, setAsTable] = useState(false);
  const at = point === null ? undefined : times[point];
  return (
    <section aria-label={title} className="min-w-0 rounded-lg border bg-surface px-3 pt-2.5 pb-2">
      <header className="flex min-h-10 flex-wrap items-baseline gap-x-3">
        <h2 className="font-semibold">{title}</h2>
        <p className="text-xs text-muted tabular-nums">
          {at === undefined
            ? total
            : `${new Date(at * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short" })}: ${series
                .map(({ label, values }) => `${label} ${shown(values[point!], format)}`)
                .join(", ")}`}
        </p>
        <button
          type="button"
          aria-pressed={asTable}
          onClick={() => setAsTable(!asTable)}
          className="ml-auto text-xs text-faint hover:text-text hover:underline"
        >
          {asTable ? "Chart" : "Table"}
          <span className="sr-only"> of {title}</span>
        </button>
      </header>
      {asTable ? (
        <PointTable title={title} times={times} series={series} format={format} />
      ) : (
        <>
          <Suspense fallback={<Skeleton className="h-36 w-full" />}>
            <Chart times={times} series={series} format={format} steps={steps} onPoint={setPoint} />
          </Suspense>
          <ul className="flex gap-4 pt-1 pl-13 text-xs text-muted">
            {series.map(({ label, tone }) => (
              <li key={label} className="flex items-center gap-1.5">
                <span aria-hidden className="size-2 rounded-xs" style={{ background: `var(--${tone})` }} />
                {label}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

function PointTable({
  title,
  times,
  series,
  format,
}: {
  title: string;
  times: readonly number[];
  series: readonly ChartSeries[];
  format: (value: number) => string;
}) {
  // Steps in which nothing was say nothing.
  const rows = times
    .map((time, index) => ({ time, values: series.map(({ values }) => values[index] ?? null) }))
    .filter(({ values }) => values.some((value) => value))
    .reverse();
  return (
    // What scrolls must be reachable by keyboard.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: see above
    <div role="region" aria-label={`${title} as a table`} tabIndex={0} className="h-42 overflow-y-auto">
      <table className="w-full text-xs tabular-nums">
        <thead className="sticky top-0 bg-surface text-faint">
          <tr>
            <th scope="col" className="py-1 text-left font-normal">
              Time
            </th>
            {series.map(({ label }) => (
              <th key={label} scope="col" className="py-1 text-right font-normal">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ time, values }) => (
            <tr key={time} className="border-t border-line/60">
              <th scope="row" className="py-1 text-left font-normal text-muted">
                {new Date(time * 1000).toLocaleString([], { dateStyle: "short", timeStyle: "short" })}
              </th>
              {values.map((value, index) => (
                <td key={series[index]!.label} className="py-1 text-right">
                  {shown(value, format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length === 0 && <p className="py-2 text-xs text-muted">Nothing in this time.</p>}
    </div>
  );
}

const shown = (value: number | null | undefined, format: (value: number) => string) =>
  value === null || value === undefined ? "–" : format(value);

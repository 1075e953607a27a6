/** @module What a series of usage comes to. */
import type { UsagePoint } from "@sandbar/shared";

export interface Summary {
  executions: number;
  failed: number;
  /** The most frequent first. */
  errors: { code: string; count: number }[];
  /** Of the steps' medians the middle one, weighed by how much ran; an estimate. */
  p50_ms: number | null;
  /** The slowest step's. */
  p95_ms: number | null;
  artifacts: number;
  artifact_bytes: number;
  sessions_created: number;
  sessions_peak: number;
}

export function summarize(points: readonly UsagePoint[]): Summary {
  const errors = new Map<string, number>();
  for (const point of points)
    for (const [code, count] of Object.entries(point.errors))
      errors.set(code, (errors.get(code) ?? 0) + count);
  const sum = (value: (point: UsagePoint) => number) => points.reduce((all, point) => all + value(point), 0);
  return {
    executions: sum(({ executions }) => executions),
    failed: [...errors.values()].reduce((all, count) => all + count, 0),
    errors: [...errors]
      .map(([code, count]) => ({ code, count }))
      .sort((a, b) => b.count - a.count || a.code.localeCompare(b.code)),
    p50_ms: weighedMedian(
      points.flatMap(({ p50_ms, executions }) =>
        p50_ms === null ? [] : [{ value: p50_ms, weight: executions }],
      ),
    ),
    p95_ms: points.reduce<number | null>(
      (most, { p95_ms }) => (p95_ms === null ? most : Math.max(most ?? 0, p95_ms)),
      null,
    ),
    artifacts: sum(({ artifacts }) => artifacts),
    artifact_bytes: sum(({ artifact_bytes }) => artifact_bytes),
    sessions_created: sum(({ sessions_created }) => sessions_created),
    sessions_peak: points.reduce((most, { sessions_peak }) => Math.max(most, sessions_peak), 0),
  };
}

export const failedIn = ({ errors }: UsagePoint) =>
  Object.values(errors).reduce((all, count) => all + count, 0);

function weighedMedian(values: { value: number; weight: number }[]): number | null {
  const sorted = [...values].sort((a, b) => a.value - b.value);
  const half = sorted.reduce((all, { weight }) => all + weight, 0) / 2;
  let passed = 0;
  for (const { value, weight } of sorted) {
    passed += weight;
    if (passed >= half) return value;
  }
  return null;
}

import type { UsagePoint } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { summarize } from "./summary.ts";

const point = (more: Partial<UsagePoint>): UsagePoint => ({
  at: "2026-11-18T00:00:00.000Z",
  executions: 0,
  errors: {},
  p50_ms: null,
  p95_ms: null,
  artifacts: 0,
  artifact_bytes: 0,
  egress_bytes: 0,
  sessions_created: 0,
  sessions_peak: 0,
  ...more,
});

describe("what a series comes to", () => {
  it("counts errors by code, the most frequent first", () => {
    const { errors, failed } = summarize([
      point({ errors: { TIMEOUT: 1, CODE_ERROR: 2 } }),
      point({ errors: { TIMEOUT: 4 } }),
    ]);
    expect(errors).toEqual([
      { code: "TIMEOUT", count: 5 },
      { code: "CODE_ERROR", count: 2 },
    ]);
    expect(failed).toBe(7);
  });

  it("weighs medians by how much ran, and takes the slowest step's tail", () => {
    const { p50_ms, p95_ms } = summarize([
      point({ executions: 1, p50_ms: 9000, p95_ms: 9000 }),
      point({ executions: 99, p50_ms: 10, p95_ms: 50 }),
      point({}),
    ]);
    expect([p50_ms, p95_ms]).toEqual([10, 9000]);
  });

  it("says nothing of latencies when nothing ran", () => {
    expect(summarize([point({})])).toMatchObject({
      p50_ms: null,
      p95_ms: null,
      executions: 0,
      sessions_peak: 0,
    });
  });
});

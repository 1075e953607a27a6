import { expect, it } from "vitest";
import { countLatency, type Latencies } from "../tenant/latencies.ts";
import { histogramOf } from "./latency-histogram.ts";

it("has every latency below the bounds above it, of all tenants together", () => {
  const [one, other]: Latencies[] = [{}, {}];
  for (const ms of [0.4, 3, 3, 250]) countLatency(one!, ms);
  countLatency(other!, 60_000);
  const { buckets, count, sum } = histogramOf([one!, other!]);
  expect(count).toBe(5);
  expect(sum).toBeGreaterThan(60 * 0.95);
  expect(sum).toBeLessThan(60.3 * 1.05);
  for (const [le, below] of buckets) {
    const really = [0.4, 3, 3, 250, 60_000].filter((ms) => ms / 1000 < le).length;
    expect([le, below]).toEqual([le, really]);
  }
  expect(buckets[0]).toEqual([0.001, 1]);
  expect(buckets.at(-1)![0]).toBeGreaterThan(86_400);
});

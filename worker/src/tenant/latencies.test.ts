import { expect, it } from "vitest";
import { countLatency, type Latencies, mergeLatencies, percentile } from "./latencies.ts";

const counted = (...times: number[]) => {
  const latencies: Latencies = {};
  for (const ms of times) countLatency(latencies, ms);
  return latencies;
};

it("knows a percentile within 5 %, from less than a millisecond to a day", () => {
  for (const ms of [1, 1.05, 3, 10, 99, 1234, 60_000, 86_400_000])
    expect(Math.abs(percentile(counted(ms), 0.5)! - ms) / ms).toBeLessThan(0.05);
  expect(percentile(counted(0, 0.2), 0.95)).toBe(0);
});

it("finds the middle and the tail of many", () => {
  const many = counted(...Array.from({ length: 100 }, (_, i) => i + 1));
  expect(percentile(many, 0.5)).toBeGreaterThan(47);
  expect(percentile(many, 0.5)).toBeLessThan(53);
  expect(percentile(many, 0.95)).toBeGreaterThan(90);
  mergeLatencies(many, counted(...Array.from({ length: 300 }, () => 5000)));
  expect(Math.abs(percentile(many, 0.5)! - 5000)).toBeLessThan(250);
});

it("has none of nothing", () => {
  expect(percentile({}, 0.5)).toBeNull();
});

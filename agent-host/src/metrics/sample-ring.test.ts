import { SAMPLE_LIMIT } from "@sandbar/shared";
import { expect, it } from "vitest";
import { SampleRing } from "./sample-ring.ts";

const usage = (cpuUs: number) => ({ cpuUs, memoryBytes: 1000, processes: 3, diskBytes: null });

it("says what was used between two readings, 100 being one core", () => {
  const ring = new SampleRing();
  ring.add(1000, usage(0));
  expect(ring.newest(10)).toEqual([]);
  ring.add(2000, usage(1_500_000));
  expect(ring.newest(10)).toEqual([[2000, 150, 1000, 3, null]]);
  expect(ring.sampleOf(3000, usage(1_500_000))?.[1]).toBe(0);
  expect(ring.sampleOf(2000, usage(1_500_000))).toBeNull();
});

it("keeps the newest, and no more", () => {
  const ring = new SampleRing();
  for (let i = 0; i <= SAMPLE_LIMIT + 10; i++) ring.add(i * 5000, usage(i));
  expect(ring.newest(SAMPLE_LIMIT * 2)).toHaveLength(SAMPLE_LIMIT);
  expect(ring.newest(1)[0]![0]).toBe((SAMPLE_LIMIT + 10) * 5000);
});

it("has no negative use when a counter begins anew", () => {
  const ring = new SampleRing();
  ring.add(1000, usage(5_000_000));
  expect(ring.sampleOf(2000, usage(10))?.[1]).toBe(0);
});

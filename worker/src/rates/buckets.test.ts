import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Buckets } from "./buckets.ts";

describe("a bucket", () => {
  it("gives a minute's worth at once, then as time gives it back, and says how long to wait", () => {
    const buckets = new Buckets(10);
    for (let i = 0; i < 60; i++) expect(buckets.take("a", 60, 1_000).ok).toBe(true);
    expect(buckets.take("a", 60, 1_000)).toEqual({ ok: false, left: 0, wait_s: 1 });
    expect(buckets.take("b", 60, 1_000)).toMatchObject({ ok: true, left: 59 });
    expect(buckets.take("a", 60, 1_999).ok).toBe(false);
    expect(buckets.take("a", 60, 2_000).ok).toBe(true);
    expect(buckets.take("a", 60, 2_000).ok).toBe(false);
    expect(buckets.take("a", 60, 63_000)).toMatchObject({ ok: true, left: 59 });
  });

  it("never gives more than two minutes' worth within any minute, and one that waits as told gets one", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.integer({ min: 0, max: 5_000 }), { maxLength: 300 }),
        (perMinute, pauses) => {
          const buckets = new Buckets(10);
          const given: number[] = [];
          let now = 0;
          for (const pause of pauses) {
            now += pause;
            const { ok, wait_s } = buckets.take("a", perMinute, now);
            if (ok) given.push(now);
            else {
              expect(wait_s).toBeGreaterThan(0);
              expect(buckets.look("a", perMinute, now + Math.ceil(wait_s * 1000)).ok).toBe(true);
            }
          }
          for (const at of given)
            expect(given.filter((time) => time >= at && time < at + 60_000).length).toBeLessThanOrEqual(
              2 * perMinute,
            );
        },
      ),
    );
  });

  it("of many names keeps a bounded number, those that are not full before others", () => {
    const buckets = new Buckets(2);
    for (let i = 0; i < 5; i++) buckets.take("greedy", 5, 0);
    buckets.take("old", 60, 0);
    buckets.take("new", 60, 10_000);
    expect(buckets.look("greedy", 5, 10_000).ok).toBe(false);
    buckets.take("newer", 60, 10_000);
    expect(buckets.look("greedy", 5, 10_000).ok).toBe(true);
  });
});

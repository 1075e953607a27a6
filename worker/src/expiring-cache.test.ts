import { expect, it } from "vitest";
import { ExpiringCache } from "./expiring-cache.ts";

it("forgets what is too old", () => {
  const cache = new ExpiringCache<string, number>(10);
  cache.set("a", 1, 100, 0);
  expect(cache.get("a", 99)).toBe(1);
  expect(cache.get("a", 100)).toBeUndefined();
});

it("never holds more than its limit", () => {
  const cache = new ExpiringCache<number, number>(3);
  for (let i = 0; i < 10; i++) cache.set(i, i, 100, 0);
  expect([6, 7, 8, 9].map((key) => cache.get(key, 1))).toEqual([undefined, 7, 8, 9]);
});

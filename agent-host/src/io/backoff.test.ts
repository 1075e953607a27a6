import { expect, it } from "vitest";
import { backoffMs } from "./backoff.ts";

it("waits from 100 ms, doubling to 10 s, with jitter", () => {
  const wait = (attempt: number, random: number) => backoffMs(attempt, undefined, random);
  expect(wait(0, 1)).toBe(100);
  expect(wait(0, 0)).toBe(50);
  expect(wait(3, 1)).toBe(800);
  expect(wait(7, 1)).toBe(10_000);
  expect(wait(1e9, 1)).toBe(10_000);
});

it("waits within other bounds", () => {
  expect(backoffMs(0, { firstMs: 25, lastMs: 1000 }, 1)).toBe(25);
  expect(backoffMs(9, { firstMs: 25, lastMs: 1000 }, 1)).toBe(1000);
});

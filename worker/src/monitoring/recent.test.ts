import { expect, it } from "vitest";
import { Recent } from "./recent.ts";

it("looks once in a while, and has whoever asks meanwhile wait for nobody", async () => {
  let looks = 0;
  const recent = new Recent<number>(1000);
  const find = async () => ++looks;
  expect(await recent.get(find, 0)).toBe(1);
  expect(await recent.get(find, 999)).toBe(1);
  const { promise, resolve } = Promise.withResolvers<number>();
  const slow = recent.get(() => promise, 1000);
  expect(await recent.get(find, 1001)).toBe(1);
  resolve(7);
  expect(await slow).toBe(7);
  expect(await recent.get(find, 1500)).toBe(7);
  expect(await recent.get(find, 2000)).toBe(2);
});

it("keeps nothing of a look that failed", async () => {
  const recent = new Recent<number>(1000);
  await expect(recent.get(() => Promise.reject(new Error("no")), 0)).rejects.toThrow("no");
  expect(await recent.get(async () => 1, 1)).toBe(1);
});

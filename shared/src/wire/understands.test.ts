import { expect, it } from "vitest";
import { understands } from "./understands.ts";

it("a wire's version goes together with itself and the one before", () => {
  expect([1, 2, 3, 4].map((other) => understands(3, other))).toEqual([false, true, true, false]);
});

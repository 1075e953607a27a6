import { expect, it } from "vitest";
import { newId, timeOfId } from "./ids.ts";

it("an id says when it was made", () => {
  const before = Date.now();
  const id = newId("ses");
  expect(timeOfId(id)).toBeGreaterThanOrEqual(before);
  expect(timeOfId(id)).toBeLessThanOrEqual(Date.now());
});

import { expect, it } from "vitest";
import { judged, slowest } from "./tally.ts";

const tally = { passed: 5, failed: 1, flaky: ["a > b"], notRun: [], files: [] };

it("a test that needed its second attempt has passed, but not in CI", () => {
  expect(judged(tally, false)).toEqual({ passed: 5, failed: 1 });
  expect(judged(tally, true)).toEqual({ passed: 4, failed: 2 });
});

it("the slowest files come first, and no more than wanted", () => {
  const files = [
    { file: "a", ms: 1200 },
    { file: "b", ms: 61_049 },
    { file: "c", ms: 3 },
  ];
  expect(slowest(files, 2)).toEqual(["   61.0 s  b", "    1.2 s  a"]);
});

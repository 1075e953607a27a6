import { expect, it } from "vitest";
import { turnsOf } from "./branches.ts";

const point = (checkpoint_id: string, parent_checkpoint_id: string | null, source = "loop") => ({
  ...{ checkpoint_id, parent_checkpoint_id, source, run_id: null },
});

/** one → two, and "two" edited; then "one" edited from before anything. */
const POINTS = [
  point("01", null, "input"),
  point("02", "01"),
  point("03", "02", "input"),
  point("04", "03"),
  point("05", "02", "input"),
  point("06", "05"),
  point("07", "01", "input"),
  point("08", "07"),
];

it("a question that was asked otherwise has siblings, each with the newest that came of it", () => {
  expect(turnsOf(POINTS, "06")).toEqual([
    { from: "01", siblings: ["06", "08"], index: 0 },
    { from: "02", siblings: ["04", "06"], index: 1 },
  ]);
});

it("the newest branch is shown unless another is chosen", () => {
  expect(turnsOf(POINTS, null)).toEqual([{ from: "01", siblings: ["06", "08"], index: 1 }]);
  expect(turnsOf([], null)).toEqual([]);
});

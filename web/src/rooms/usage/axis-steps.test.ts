import { describe, expect, it } from "vitest";
import { topOf } from "./axis-steps.ts";

describe("an axis", () => {
  it.each([
    [0, "whole", 1],
    [1, "whole", 1],
    [18, "whole", 20],
    [8, "whole", 10],
    [50_700, "bytes", 65_536],
    [406_000, "time", 600_000],
    [103, "time", 200],
  ] as const)("up to %d in %s ends at %d", (max, steps, top) => {
    expect(topOf(max, steps)).toBe(top);
  });

  it("ends where the largest is when that is more than it has steps for", () => {
    expect(topOf(1e30, "whole")).toBe(1e30);
    expect(topOf(Number.NaN, "time")).toBe(1);
  });
});

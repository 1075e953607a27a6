import { describe, expect, it } from "vitest";
import { Replay } from "./replay.ts";

describe("what a terminal shows again", () => {
  it("is what comes in one go after attaching", () => {
    const replay = new Replay(0);
    expect([5, 10, 90, 200].map((at) => replay.takes(at))).toEqual([true, true, true, true]);
  });

  it("ends with the first pause, for good", () => {
    const replay = new Replay(0);
    expect([5, 400, 410].map((at) => replay.takes(at))).toEqual([true, false, false]);
  });

  it("ends under a program that never pauses", () => {
    const replay = new Replay(0);
    const answers = Array.from({ length: 30 }, (_, index) => replay.takes(index * 100));
    expect(answers[0]).toBe(true);
    expect(answers.at(-1)).toBe(false);
  });
});

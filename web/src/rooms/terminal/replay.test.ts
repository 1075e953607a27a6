import { describe, expect, it } from "vitest";
import { isReport, Replay } from "./replay.ts";

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

it("knows a terminal's own answers from what somebody types", () => {
  const answers = [
    "\x1b[?1;2c",
    "\x1b[>0;276;0c",
    "\x1b[12;40R",
    "\x1b[?2026;2$y",
    "\x1b]11;rgb:00/00/00\x1b\\",
    "\x1bP1$r0m",
  ];
  expect(answers.map(isReport)).not.toContain(false);
  expect(
    ["a", "\r", "\x03", "\x1b", "\x1b[A", "\x1b[1;5C", "\x1b[200~text", "\x1bOP"].map(isReport),
  ).not.toContain(true);
});

import { describe, expect, it } from "vitest";
import { nameParts, plainName } from "./shown-name.ts";

describe("a name from a session", () => {
  it("is shown as it is when all of it can be seen", () => {
    expect(nameParts("Ergebnis für 東京 (1).csv")).toEqual([
      { text: "Ergebnis für 東京 (1).csv", escaped: false },
    ]);
  });

  it("spells out what would turn it around, hide in it or break the line", () => {
    expect(nameParts("gpj\u202e.exe")).toEqual([
      { text: "gpj", escaped: false },
      { text: "\\u{202e}", escaped: true },
      { text: ".exe", escaped: false },
    ]);
    expect(plainName("a\nb\x1b[31m\0\u200b\u{e0041}")).toBe("a\\nb\\e[31m\\0\\u{200b}\\u{e0041}");
  });

  it("has an end", () => {
    expect(plainName("x".repeat(5000))).toHaveLength(201);
  });
});

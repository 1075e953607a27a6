import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import { age, clean, size, table } from "./print.ts";

describe("the CLI's output", () => {
  it("lines up columns", () => {
    const text = table(
      [
        { a: "x", b: 1 },
        { a: "longer", b: 100 },
      ],
      [
        { title: "a", value: (row) => row.a },
        { title: "b", value: (row) => row.b, right: true },
      ],
    );
    expect(stripVTControlCharacters(text)).toBe("A         B\nx         1\nlonger  100\n");
  });

  it("lets nobody's name move the cursor", () => {
    expect(clean("\x1b[2Jevil\r\nname\x9b1m")).toBe("evil��name");
  });

  it("says sizes and ages as people do", () => {
    expect([size(999), size(1500), size(52_000_000)]).toEqual(["999 B", "1.5 kB", "52 MB"]);
    const now = Date.parse("2026-01-01T01:00:00Z");
    expect([age("2026-01-01T00:00:00Z", now), age("2026-01-01T01:00:30Z", now)]).toEqual([
      "60 min",
      "in 30 s",
    ]);
  });
});

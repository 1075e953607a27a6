import { describe, expect, it } from "vitest";
import { overwritten, parseAnsi } from "./ansi.ts";

describe("text with colours", () => {
  it("is one plain piece without escapes", () => {
    expect(parseAnsi("plain\ttext\n")).toEqual([{ text: "plain\ttext\n" }]);
  });

  it("has colours and styles until they are taken back", () => {
    expect(parseAnsi("\x1b[1;31mError\x1b[0m: no \x1b[94mfile\x1b[39m.")).toEqual([
      { text: "Error", bold: true, fg: "red" },
      { text: ": no " },
      { text: "file", fg: "bright-blue" },
      { text: "." },
    ]);
  });

  it("knows the palette and true colour", () => {
    const fg = (text: string) => parseAnsi(`\x1b[${text}mx`)[0]?.fg;
    expect(fg("38;5;9")).toBe("bright-red");
    expect(fg("38;5;196")).toBe("#ff0000");
    expect(fg("38;5;244")).toBe("#808080");
    expect(fg("38;2;1;2;255")).toBe("#0102ff");
  });

  it("goes on with styles after an extended colour", () => {
    expect(parseAnsi("\x1b[38;5;28;1mx")[0]).toMatchObject({ fg: "#008700", bold: true });
  });

  it("shows nothing of cursor movements, titles, bells, and escapes that are cut off", () => {
    expect(
      parseAnsi("\x1b[2J\x1b[1;1H\x1b]0;title\x07a\x07b\x1b[3")
        .map(({ text }) => text)
        .join(""),
    ).toBe("ab");
  });
});

describe("lines that were written over", () => {
  it("show what is left", () => {
    expect(overwritten("10 %\r 50 %\r100 %\ndone\r\n")).toBe("100 %\ndone\n");
    expect(overwritten("abcdef\rXY")).toBe("XYcdef");
    expect(overwritten("ab\bc")).toBe("ac");
  });

  it("keep the newest of coloured ones", () => {
    expect(overwritten("\x1b[32m10 %\x1b[0m\r\x1b[32m20 %\x1b[0m")).toBe("\x1b[32m20 %\x1b[0m");
  });
});

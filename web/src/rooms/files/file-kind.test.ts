import { describe, expect, it } from "vitest";
import { hexLines, kindByBytes, kindByName } from "./file-kind.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

describe("how a file is shown", () => {
  it("is told by its name", () => {
    expect(["plot.PNG", "a.tsv", "x.svg", "a.pdf"].map(kindByName)).toEqual(["image", "csv", "svg", "pdf"]);
    expect(["main.py", "a.json", "Makefile", "x.unheard"].map(kindByName)).toEqual([null, null, null, null]);
  });

  it("or by its bytes, also when they are cut inside a character", () => {
    const umlaut = bytes("ü");
    expect(kindByBytes(umlaut.subarray(0, 1), false)).toBe("text");
    expect(kindByBytes(umlaut.subarray(0, 1), true)).toBe("binary");
    expect(kindByBytes(bytes("a\0b"), true)).toBe("binary");
    expect(kindByBytes(bytes(""), true)).toBe("text");
  });

  it("as bytes, when it is nothing else", () => {
    expect(hexLines(Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, 0))).toBe(
      `00000000  7f 45 4c 46 00${" ".repeat(33)}  ·ELF·`,
    );
  });
});

import { describe, expect, it } from "vitest";
import { kindOf, textOf } from "./preview-source.ts";

describe("how something is shown", () => {
  it("is said by its type, and by its name where the type says nothing", () => {
    expect(kindOf("plot", "image/png")).toBe("image");
    expect(kindOf("a/b/table.parquet", "application/octet-stream")).toBe("parquet");
    expect(kindOf("Makefile", null)).toBe("text");
    expect(kindOf("model.bin", "application/octet-stream")).toBe(null);
  });

  it("is never as an image when it could have scripts", () => {
    expect(kindOf("x.png", "image/svg+xml; charset=utf-8")).toBe("svg");
    expect(kindOf("x.txt", "TEXT/HTML")).toBe("html");
    expect(kindOf("x.svg", "text/plain")).toBe("svg");
  });
});

describe("text", () => {
  it("may be cut inside a character", () => {
    const bytes = new TextEncoder().encode("größe");
    expect(textOf(bytes.slice(0, 3), false)).toBe("gr");
    expect(textOf(bytes.slice(0, 3), true)).toBe(null);
    expect(textOf(bytes, true)).toBe("größe");
  });

  it("has no NUL", () => {
    expect(textOf(new Uint8Array([104, 0, 105]), true)).toBe(null);
  });
});

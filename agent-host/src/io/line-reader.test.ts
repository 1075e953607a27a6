import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LineReader, LineTooLong } from "./line-reader.ts";

describe("lines", () => {
  it("come out whole, wherever the chunks are cut", () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: "grapheme" })),
        fc.integer({ min: 1, max: 9 }),
        (words, size) => {
          const lines = words.map((word) => word.replaceAll("\n", ""));
          const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(""));
          const reader = new LineReader(1000);
          const read: string[] = [];
          for (let at = 0; at < bytes.length; at += size)
            read.push(...reader.push(bytes.subarray(at, at + size)));
          expect(read).toEqual(lines);
        },
      ),
    );
  });

  it("end at the limit, before they are complete", () => {
    const reader = new LineReader(10);
    expect([...reader.push(Buffer.from("0123456789\n"))]).toEqual(["0123456789"]);
    expect(() => [...reader.push(Buffer.from("0123456789x"))]).toThrow(LineTooLong);
  });
});

import { describe, expect, it } from "vitest";
import { cellText, csvHead } from "./data-head.ts";

describe("the first rows of a CSV file", () => {
  it("have their columns' names, quotes and line breaks understood", () => {
    const { columns, rows, total } = csvHead('name,note\nAda,"says ""hi"",\ntwice"\nBob,\n', true);
    expect(columns.map(({ name }) => name)).toEqual(["name", "note"]);
    expect(rows).toEqual([
      ["Ada", 'says "hi",\ntwice'],
      ["Bob", ""],
    ]);
    expect(total).toBe(2);
  });

  it("do not end in half a line when only a part was read", () => {
    const { rows, total } = csvHead("a;b\n1;2\n3;", false);
    expect(rows).toEqual([["1", "2"]]);
    expect(total).toBeNull();
  });
});

it("writes a cell of any type as text", () => {
  const values = [null, 12n, new Date(0), { a: [1n] }, Uint8Array.of(1, 2)];
  expect(values.map(cellText)).toEqual(["", "12", "1970-01-01T00:00:00.000Z", '{"a":["1"]}', "2 bytes"]);
});

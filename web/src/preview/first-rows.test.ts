import { describe, expect, it } from "vitest";
import { parseCsv, ROW_LIMIT } from "./first-rows.ts";

describe("the first rows of a CSV", () => {
  it("have the header's columns, whatever separates them", () => {
    expect(parseCsv('name;size\n"a;b";1\n', true)).toEqual({
      columns: [{ name: "name" }, { name: "size" }],
      rows: [["a;b", "1"]],
      total: 1,
    });
  });

  it("leave out a last line that may be half of one", () => {
    const { rows, total } = parseCsv("a,b\n1,2\n3,4\n5", false);
    expect(rows).toEqual([
      ["1", "2"],
      ["3", "4"],
    ]);
    expect(total).toBe(null);
  });

  it("are bounded", () => {
    const { rows, total } = parseCsv(`a,b\n${"1,2\n".repeat(1000)}`, true);
    expect(rows.length).toBe(ROW_LIMIT);
    expect(total).toBe(1000);
  });
});

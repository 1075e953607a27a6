import { describe, expect, it } from "vitest";
import type { Entry } from "./entry.ts";
import { afterRun, arrange, type Draft, EMPTY_LAYOUT, type Layout } from "./layout.ts";

const entry = (id: string) => ({ id, status: "ok" }) as Entry;
const draft = (id: string, after: string | null = null): Draft => ({
  id,
  kind: "code",
  context: "python",
  code: "",
  after,
});
const ids = (entries: Entry[], layout: Layout) => arrange(entries, layout).map(({ id }) => id);

describe("cells", () => {
  it("stand as they ran, and drafts at the end", () => {
    expect(ids([entry("a"), entry("b")], { ...EMPTY_LAYOUT, drafts: [draft("d")] })).toEqual(["a", "b", "d"]);
  });

  it("show the newest run of what was run again, in its place", () => {
    const layout = afterRun(afterRun({ ...EMPTY_LAYOUT, edits: { a: "2" } }, "a", "c"), "a", "d");
    const cells = arrange([entry("a"), entry("b"), entry("c"), entry("d")], layout);
    expect(cells.map(({ id, entry }) => [id, entry?.id])).toEqual([
      ["a", "d"],
      ["b", "b"],
    ]);
    expect(cells[0]).toMatchObject({ runs: 3, edited: null });
  });

  it("stay where they were put, also when they have run", () => {
    const put = { ...EMPTY_LAYOUT, drafts: [draft("d", "a"), draft("end")] };
    expect(ids([entry("a"), entry("b")], put)).toEqual(["a", "d", "b", "end"]);
    const ran = afterRun(put, "d", "x");
    expect(ids([entry("a"), entry("b"), entry("x")], ran)).toEqual(["a", "x", "b", "end"]);
  });

  it("keep the order of drafts that hang on one that runs", () => {
    const layout = afterRun({ ...EMPTY_LAYOUT, drafts: [draft("d"), draft("e", "d")] }, "d", "x");
    expect(ids([entry("x")], layout)).toEqual(["x", "e"]);
  });

  it("lose nothing when what they stood below is not loaded", () => {
    expect(
      ids([entry("x")], { ...EMPTY_LAYOUT, placed: { x: "gone" }, drafts: [draft("d", "gone")] }),
    ).toEqual(["x", "d"]);
  });

  it("run again of what is not loaded stand alone", () => {
    expect(ids([entry("b")], { ...EMPTY_LAYOUT, replaces: { b: "a" } })).toEqual(["a"]);
  });
});

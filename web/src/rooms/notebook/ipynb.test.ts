import { describe, expect, it } from "vitest";
import { fromIpynb, NotAnIpynb, type NotebookCell, toIpynb } from "./ipynb.ts";

const code = (text: string, more: Partial<NotebookCell> = {}): NotebookCell => ({
  kind: "code",
  code: text,
  language: "python",
  outputs: [],
  ...more,
});

describe("a notebook file", () => {
  it("comes back as it was written, in every language", () => {
    const cells = [
      code("x = 1\nprint(x)"),
      { kind: "markdown" as const, code: "# Title", language: null, outputs: [] },
      code("ls -l", { language: "bash" }),
      code("1 + 1", { language: "r" }),
    ];
    expect(fromIpynb(toIpynb(cells, "python"))).toEqual(cells);
  });

  it("has outputs as Jupyter writes them", () => {
    const written = JSON.parse(
      toIpynb(
        [
          code("plot()", {
            outputs: [
              { kind: "stdout", text: "a\nb" },
              { kind: "result", data: { "text/plain": "Figure", "image/png": "iVBO" } },
              { kind: "error", name: "ValueError", value: "no", traceback: "one\ntwo" },
            ],
          }),
        ],
        "python",
      ),
    );
    expect(written).toMatchObject({ nbformat: 4, metadata: { kernelspec: { name: "python3" } } });
    expect(written.cells[0].outputs).toEqual([
      { output_type: "stream", name: "stdout", text: ["a\n", "b"] },
      { output_type: "display_data", metadata: {}, data: { "text/plain": ["Figure"], "image/png": "iVBO" } },
      { output_type: "error", ename: "ValueError", evalue: "no", traceback: ["one", "two"] },
    ]);
  });

  it("is read when its source is one text, and without empty cells", () => {
    const text = JSON.stringify({
      nbformat: 4,
      metadata: { kernelspec: { name: "ir", language: "R" } },
      cells: [
        { cell_type: "code", source: "1 + 1" },
        { cell_type: "code", source: [] },
        { cell_type: "raw", source: "words" },
      ],
    });
    expect(fromIpynb(text).map(({ kind, language, code }) => [kind, language, code])).toEqual([
      ["code", "r", "1 + 1"],
      ["markdown", null, "words"],
    ]);
  });

  it.each(["no json", "{}", "null", '{"nbformat": 3, "cells": []}'])("is not %s", (text) => {
    expect(() => fromIpynb(text)).toThrow(NotAnIpynb);
  });
});

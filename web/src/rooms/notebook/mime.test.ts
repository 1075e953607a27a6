import { describe, expect, it } from "vitest";
import { pngSize, shownTypes } from "./mime.ts";

describe("the forms of a value", () => {
  it("begin with the richest that there is", () => {
    expect(shownTypes({ "text/plain": "  a", "text/html": "<table>" })).toEqual(["text/html", "text/plain"]);
    expect(shownTypes({ "text/plain": "Figure", "image/png": "iVBO" })[0]).toBe("image/png");
    expect(shownTypes({ "application/json": null, "text/plain": "None" })[0]).toBe("application/json");
  });

  it("leave out what cannot be shown", () => {
    expect(shownTypes({ "text/html": "", "application/octet-stream": "x", "text/plain": "" })).toEqual([
      "text/plain",
    ]);
    expect(shownTypes({ "application/vnd.custom+json": { a: 1 } })).toEqual(["application/vnd.custom+json"]);
  });
});

it("reads a PNG's size from its first bytes", () => {
  const png =
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAYAAACddGYaAAAAEklEQVR42mNk+M9QzwAFjDAGACCtAQNoS7YIAAAAAElFTkSuQmCC";
  expect(pngSize(png)).toEqual({ width: 3, height: 2 });
  expect(pngSize("bm90IGEgcG5n")).toBeNull();
});

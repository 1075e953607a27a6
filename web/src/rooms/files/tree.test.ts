import type { FileEntry } from "@sandbar/sdk";
import { describe, expect, it } from "vitest";
import { foldersAbove, resolved } from "./paths.ts";
import { sorted, treeRows } from "./tree.ts";

const entry = (path: string, type: FileEntry["type"] = "file") =>
  ({ path, name: path.split("/").at(-1)!, type }) as FileEntry;
const root = entry("/session", "directory");
const text = (rows: ReturnType<typeof treeRows>) =>
  rows.map((row) => " ".repeat(row.depth) + (row.kind === "note" ? row.note : row.entry.name));

describe("the tree", () => {
  it("has folders first, and numbers in the order of their size", () => {
    const entries = [entry("/b10"), entry("/b2"), entry("/z", "directory"), entry("/A")];
    expect(sorted(entries).map(({ name }) => name)).toEqual(["z", "A", "b2", "b10"]);
  });

  it("shows what is in open folders, and says what is not known yet", () => {
    const listings = new Map([
      ["/session", { entries: [entry("/session/a", "directory"), entry("/session/b", "directory")] }],
      ["/session/a", { entries: [] }],
    ]);
    const open = new Set(["/session", "/session/a", "/session/b"]);
    expect(text(treeRows([root], listings, open))).toEqual(["session", " a", "  empty", " b", "  loading"]);
    expect(text(treeRows([root], listings, new Set()))).toEqual(["session"]);
  });
});

describe("a path that somebody types", () => {
  it("is seen from the folder where one is", () => {
    expect(resolved("/session/a", "b/c.txt")).toBe("/session/a/b/c.txt");
    expect(resolved("/session/a", "../c.txt")).toBe("/session/c.txt");
    expect(resolved("/session", "/data//x/./y")).toBe("/data/x/y");
  });

  it("has folders above it", () => {
    expect(foldersAbove("/session/a/b")).toEqual(["/session", "/session/a"]);
  });
});

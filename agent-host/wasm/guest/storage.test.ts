import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Storage } from "./storage.ts";

const MB = 1024 * 1024;

function folder() {
  const root = mkdtempSync(join(tmpdir(), "sandbar-storage-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return { root, mounts: [{ at: "/session", root, readOnly: false, counted: true }] };
}

it("counts what has a name, each with at least a block, and what is open without one", () => {
  const { root, mounts } = folder();
  const storage = new Storage(mounts, 8, () => [process.pid]);
  const before = storage.used();
  mkdirSync(join(root, "folder"));
  for (const name of ["a", "b", "folder/c"]) writeFileSync(join(root, name), "");
  expect(storage.used() - before).toBe(4 * 4096);
  const open = openSync(join(root, "gone"), "w");
  onTestFinished(() => closeSync(open));
  writeFileSync(open, Buffer.alloc(3 * MB));
  rmSync(join(root, "gone"));
  expect(storage.used() - before).toBeGreaterThanOrEqual(3 * MB);
  expect(storage.room()).toBeLessThanOrEqual(5 * MB);
});

it("is overrun only far beyond what it may hold", () => {
  const { root, mounts } = folder();
  const storage = new Storage(mounts, 1, () => []);
  writeFileSync(join(root, "some"), Buffer.alloc(3 * MB));
  expect([storage.room(), storage.overrun]).toEqual([0, false]);
  writeFileSync(join(root, "much"), Buffer.alloc(70 * MB));
  expect(storage.overrun).toBe(true);
});

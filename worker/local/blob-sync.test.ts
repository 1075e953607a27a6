import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { syncBlobs } from "./blob-sync.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandbar-sync-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

/** As workerd writes them. */
function put(name: string): void {
  writeFileSync(join(folder, "blobs", `.${name}.tmp`), "bytes");
  renameSync(join(folder, "blobs", `.${name}.tmp`), join(folder, "blobs", name));
}

it("what is written is synced, and its folder after it, before it ends; what is gone again troubles nobody", async () => {
  const file = await open(import.meta.filename);
  // Watched, not replaced.
  const synced = vi.spyOn(Object.getPrototypeOf(file), "datasync");
  const complaints = vi.spyOn(console, "error");
  await file.close();
  const end = syncBlobs(join(folder, "blobs"));
  put("one");
  await vi.waitFor(() => expect(synced).toHaveBeenCalledTimes(2));
  put("two");
  put("gone");
  rmSync(join(folder, "blobs", "gone"));
  await vi.waitFor(() => expect(synced.mock.calls.length).toBeGreaterThanOrEqual(4));
  await end();
  await Promise.all(synced.mock.results.map(({ value }) => value));
  expect(complaints).not.toHaveBeenCalled();
});

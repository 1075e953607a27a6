import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { withFileLock } from "./file-lock.mjs";

const newLock = () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-test-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return join(folder, "lock");
};

test("only one at a time holds a lock, and the one who waits is told", async () => {
  const lock = newLock();
  let inside = 0;
  let waits = 0;
  const work = async () => {
    inside += 1;
    expect(inside).toBe(1);
    await sleep(500);
    inside -= 1;
  };
  const onWait = () => {
    waits += 1;
  };
  await Promise.all([withFileLock(lock, work, onWait), withFileLock(lock, work, onWait)]);
  expect(waits).toBe(1);
});

test("a lock is free again after an error, and after its holder was killed", async () => {
  const lock = newLock();
  await expect(withFileLock(lock, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const script = `import { withFileLock } from ${JSON.stringify(join(import.meta.dirname, "file-lock.mjs"))};
    await withFileLock(${JSON.stringify(lock)}, () => { console.log("held"); return new Promise((r) => setTimeout(r, 60_000)); });`;
  const holder = spawn(process.execPath, ["--input-type=module", "-e", script], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(holder.stdout, "data");
  holder.kill("SIGKILL");
  expect(await withFileLock(lock, () => "mine")).toBe("mine");
});

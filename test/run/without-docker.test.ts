import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { mayLeaveOut, needsDocker, WITHOUT_DOCKER } from "./without-docker.ts";

it("tests of WebAssembly need no Docker, those of containers do", () => {
  expect(needsDocker("/home/me/sandbar/test/wasm/sessions.test.ts")).toBe(false);
  expect(needsDocker("/home/me/sandbar/test/guest/bash.test.ts")).toBe(true);
});

it.each(WITHOUT_DOCKER)("%s exists", (path) => {
  expect(existsSync(join(import.meta.dirname, "../..", path))).toBe(true);
});

it("a missing Docker leaves tests out on a developer's machine, and fails in CI", () => {
  expect(() => mayLeaveOut("no engine", false)).not.toThrow();
  expect(() => mayLeaveOut("no engine", true)).toThrow("CI=true");
});

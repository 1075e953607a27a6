import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ConfigError, readConfig } from "./config.ts";

const folder = mkdtempSync(path.join(tmpdir(), "sandbar-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("settings", () => {
  it("have defaults", () => {
    const config = readConfig({});
    expect(config.defaults).toEqual({ memory_mb: 1024, cpus: 1, pids: 256, tmpfs_mb: 256, timeout_s: 30 });
    expect(config.images.python).toBe("sandbar/python:latest");
    expect(config.maxSessions).toBeGreaterThan(0);
    expect(config.sessionsRoot).toBe(path.join(config.home, "sessions"));
  });

  it("come from a file, and the environment wins", () => {
    const file = path.join(folder, "x.json");
    writeFileSync(file, JSON.stringify({ SANDBAR_MAX_SESSIONS: 5, SANDBAR_URL: "https://a.example/" }));
    const config = readConfig({ SANDBAR_CONFIG: file, SANDBAR_MAX_SESSIONS: "7" });
    expect(config.maxSessions).toBe(7);
    expect(config.url).toBe("https://a.example");
  });

  it.each([
    [{ SANDBAR_MAX_SESSIONS: "many" }, "SANDBAR_MAX_SESSIONS"],
    [{ SANDBAR_URL: "ftp://a.example" }, "SANDBAR_URL"],
    [{ SANDBAR_DEFAULT_MEMORY_MB: "99999999" }, "SANDBAR_DEFAULT_MEMORY_MB"],
    [{ SANDBAR_DEFAULT_TMPFS_MB: "600" }, "SANDBAR_DEFAULT_TMPFS_MB"],
    [{ SANDBAR_CONFIG: "/nowhere.json" }, "/nowhere.json"],
  ])("that are wrong are named: %o", (env, name) => {
    expect(() => readConfig(env)).toThrow(ConfigError);
    expect(() => readConfig(env)).toThrow(name);
  });
});

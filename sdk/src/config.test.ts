import { describe, expect, it } from "vitest";
import { configFromEnv, sessionDefaultsFromEnv } from "./config.ts";

describe("settings from the environment", () => {
  it("default to the one-machine deployment", () => {
    expect(configFromEnv({})).toEqual({ url: "http://127.0.0.1:8787", apiKey: "" });
    expect(configFromEnv({ SANDBAR_URL: "https://x", SANDBAR_API_KEY: "k" })).toEqual({
      url: "https://x",
      apiKey: "k",
    });
  });

  it("describe new sessions, with the older systems' names too", () => {
    expect(sessionDefaultsFromEnv({})).toEqual({});
    expect(
      sessionDefaultsFromEnv({
        SESSION_STORAGE: "BIND",
        DATASET_ACCESS: "API_TMPFS",
        SANDBAR_MEMORY_MB: "256",
      }),
    ).toEqual({ storage: "BIND", datasets: { access: "API" }, limits: { memory_mb: 256 } });
  });

  it("say which variable is wrong", () => {
    expect(() => sessionDefaultsFromEnv({ SANDBAR_CPUS: "two" })).toThrow(
      'SANDBAR_CPUS must be a number, not "two"',
    );
  });
});

import { describe, expect, it } from "vitest";
import { pauseMs, providerFailure } from "./provider-failure.ts";

const refused = (status: number, message: string, more: object = {}) =>
  Object.assign(new Error(message), { status, ...more });

describe("what went wrong at a provider", () => {
  it.each([
    [refused(429, "slow down"), true],
    [refused(529, "overloaded"), true],
    [refused(503, "later"), true],
    [new Error("the stream was cut off"), true],
    [new TypeError("fetch failed"), true],
    [new Error("Network connection lost."), true],
    [refused(429, "You exceeded your current quota", { code: "insufficient_quota" }), false],
    [refused(400, "bad request"), false],
    [refused(401, "no such key"), false],
    [new Error("cannot read properties of undefined"), false],
  ])("%s may pass: %s", (error, transient) => {
    expect(providerFailure(error).transient).toBe(transient);
  });

  it("waits as long as the provider asks, but not for ever", () => {
    const after = (headers: object) => pauseMs(providerFailure(refused(429, "", { headers })), 0);
    expect(after(new Headers({ "retry-after": "7" }))).toBe(7_000);
    expect(after({ "retry-after-ms": "250" })).toBe(250);
    expect(after(new Headers({ "retry-after": "86400" }))).toBe(60_000);
    expect(after(new Headers())).toBeLessThan(2_000);
  });

  it.each([
    "registry.ollama.ai/library/gemma:2b does not support tools",
    "Function calling is not supported by this model",
    "tools are unsupported",
  ])("knows who takes no tools: %s", (message) => {
    expect(providerFailure(refused(400, message)).withoutTools).toBe(true);
    expect(providerFailure(refused(500, message)).withoutTools).toBe(false);
  });
});

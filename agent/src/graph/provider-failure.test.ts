import { SandbarError } from "@sandbar/shared";
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
    [refused(400, "Failed to call a function", { code: "tool_use_failed" }), true],
    [Object.assign(new Error("Provider returned error"), { code: 502 }), true],
    [new Error("Connection error.", { cause: new SandbarError("MODEL_FAILED", "a redirect") }), false],
    [refused(429, "You exceeded your current quota", { code: "insufficient_quota" }), false],
    [refused(400, "bad request"), false],
    [refused(401, "no such key"), false],
    [new Error("cannot read properties of undefined"), false],
  ])("%s may pass: %s", (error, transient) => {
    expect(providerFailure(error).transient).toBe(transient);
  });

  it("says what the provider said, without the advice that LangChain adds", () => {
    const advice =
      "\n\nTroubleshooting URL: https://docs.langchain.com/oss/javascript/errors/MODEL_RATE_LIMIT/\n";
    expect(providerFailure(refused(429, `429 slow down${advice}`)).detail).toBe("slow down");
    expect(providerFailure(refused(400, "40 tokens are too many")).detail).toBe("40 tokens are too many");
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

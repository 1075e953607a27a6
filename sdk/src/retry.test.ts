import { describe, expect, it } from "vitest";
import { parseRetryAfter, SandbarError } from "./errors.ts";
import { backoffMs, DEFAULT_RETRY, retryDelayMs } from "./retry.ts";

const error = (status: number, retryable: boolean, retryAfterS?: number) =>
  new SandbarError({
    code: status === 0 ? "NETWORK_ERROR" : "X",
    detail: "",
    status,
    retryable,
    retryAfterS,
  });

describe("retryDelayMs", () => {
  it("tries again after network failures and gateway answers that may pass", () => {
    for (const status of [0, 502, 503, 504])
      expect(retryDelayMs(error(status, true), 0, DEFAULT_RETRY)).toBeGreaterThan(0);
  });

  it("does not repeat what will fail again", () => {
    expect(retryDelayMs(error(503, false), 0, DEFAULT_RETRY)).toBeNull();
    for (const status of [400, 404, 409, 410, 500])
      expect(retryDelayMs(error(status, true), 0, DEFAULT_RETRY)).toBeNull();
    expect(retryDelayMs(new TypeError("bug"), 0, DEFAULT_RETRY)).toBeNull();
  });

  it("is bounded", () => {
    expect(retryDelayMs(error(503, true), DEFAULT_RETRY.attempts - 1, DEFAULT_RETRY)).toBeNull();
    expect(backoffMs(50, DEFAULT_RETRY, () => 1)).toBe(DEFAULT_RETRY.maxMs);
  });

  it("waits as long as the server asks, and passes the error on when that is too long", () => {
    expect(retryDelayMs(error(429, true, 2), 0, DEFAULT_RETRY, () => 0)).toBe(2000);
    expect(retryDelayMs(error(429, true), 0, DEFAULT_RETRY)).toBeNull();
    expect(retryDelayMs(error(503, true, 3600), 0, DEFAULT_RETRY)).toBeNull();
  });

  it("jitter spreads clients over half of the interval", () => {
    expect(backoffMs(1, DEFAULT_RETRY, () => 0)).toBe(200);
    expect(backoffMs(1, DEFAULT_RETRY, () => 1)).toBe(400);
  });
});

describe("parseRetryAfter", () => {
  it("reads seconds and dates", () => {
    expect(parseRetryAfter("7")).toBe(7);
    expect(parseRetryAfter("Mon, 16 Nov 2026 00:00:10 GMT", Date.parse("2026-11-16T00:00:00Z"))).toBe(10);
    expect(parseRetryAfter("soon")).toBeUndefined();
    expect(parseRetryAfter(null)).toBeUndefined();
  });
});

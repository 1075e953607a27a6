import { describe, expect, it } from "vitest";
import { backoffMs } from "./link.ts";

describe("redialling", () => {
  it("waits from 100 ms, doubling to 10 s, with jitter", () => {
    expect(backoffMs(0, 1)).toBe(100);
    expect(backoffMs(0, 0)).toBe(50);
    expect(backoffMs(3, 1)).toBe(800);
    expect(backoffMs(7, 1)).toBe(10_000);
    expect(backoffMs(1e9, 1)).toBe(10_000);
  });
});

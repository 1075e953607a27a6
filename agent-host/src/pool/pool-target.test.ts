import { describe, expect, it } from "vitest";
import { Demand } from "./pool-target.ts";

const size = { size: 2, max: 5, idleMs: 600_000 };

describe("a pool's size", () => {
  it("is the configured one without demand", () => {
    expect(new Demand(0).target(size, 1000)).toBe(2);
  });

  it("grows to the largest burst, up to its maximum", () => {
    const demand = new Demand(0);
    for (let i = 0; i < 4; i++) demand.asked(1000 + i);
    expect(demand.target(size, 2000)).toBe(4);
    for (let i = 0; i < 40; i++) demand.asked(2000 + i);
    expect(demand.target(size, 3000)).toBe(5);
  });

  it("does not grow by sessions that come one by one", () => {
    const demand = new Demand(0);
    for (let i = 0; i < 20; i++) demand.asked(i * 20_000);
    expect(demand.target({ ...size, size: 0 }, 400_000)).toBe(1);
  });

  it("shrinks when nobody asks, and is empty at last", () => {
    const demand = new Demand(0);
    for (let i = 0; i < 4; i++) demand.asked(1000);
    expect(demand.target(size, 1000 + 600_000)).toBe(2);
    expect(demand.target(size, 1000 + 6 * 600_000)).toBe(0);
    demand.asked(5_000_000);
    expect(demand.target(size, 5_000_001)).toBe(2);
  });
});

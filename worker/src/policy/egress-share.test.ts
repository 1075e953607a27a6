import { describe, expect, it } from "vitest";
import { spentShare } from "./egress-share.ts";

const MB = 1024 * 1024;
const NOON = Date.UTC(2026, 0, 2, 12);

describe("a tenant's share of egress", () => {
  it("is spent when all of it was carried, and not before; without one there is no end", () => {
    expect(spentShare(null, 1e15, NOON)).toBeNull();
    expect(spentShare(2, 2 * MB - 1, NOON)).toBeNull();
    expect(spentShare(2, 2 * MB, NOON)?.reason).toContain("egress_mb_per_day, 2 MB");
    expect(spentShare(0, 0, NOON)).not.toBeNull();
  });

  it("is asked for again within minutes, and at midnight", () => {
    expect(spentShare(1, MB, NOON)!.until).toBe(NOON + 300_000);
    const late = Date.UTC(2026, 0, 2, 23, 58);
    expect(spentShare(1, MB, late)!.until).toBe(Date.UTC(2026, 0, 3));
  });
});

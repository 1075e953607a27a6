import { describe, expect, it } from "vitest";
import { limitRefusal } from "./limit-refusal.ts";

const limits = { memory_mb: 1024, cpus: 1, pids: 256, tmpfs_mb: 512, timeout_s: 30 };

describe("limits", () => {
  it("within the maxima are fine", () => {
    expect(limitRefusal(limits, limits)).toBeNull();
    expect(limitRefusal(limits, {})).toBeNull();
  });

  it.each(["memory_mb", "cpus", "pids", "tmpfs_mb", "timeout_s"] as const)(
    "above the maximum of %s are refused with it",
    (name) => {
      expect(limitRefusal({ ...limits, [name]: limits[name] + 1 }, limits)).toContain(
        `limits.${name} may be at most ${limits[name]}`,
      );
    },
  );

  it("give files at most half of the memory", () => {
    expect(limitRefusal({ ...limits, tmpfs_mb: 513 }, {})).toContain("limits.tmpfs_mb may be at most 512");
  });
});

import { expect, it } from "vitest";
import { warningsFor } from "./engine-check.ts";

it("warns of an old engine, an old runc and a missing AppArmor, and of nothing else", () => {
  expect(warningsFor({ docker: "28.2.2", runc: "1.2.8" }, true)).toEqual([]);
  expect(warningsFor({ docker: "27.1.1-ce", runc: "1.10.0" }, true)).toEqual([]);
  expect(warningsFor({ docker: "28.0.0" }, true)).toEqual([]);
  const all = warningsFor({ docker: "20.10.24+dfsg1", runc: "1.1.5+ds1" }, false);
  expect(all).toEqual([
    expect.stringContaining("docker 20.10.24+dfsg1 is older than 27.1.1"),
    expect.stringContaining("runc 1.1.5+ds1 is older than 1.2.8"),
    expect.stringContaining("AppArmor"),
  ]);
});

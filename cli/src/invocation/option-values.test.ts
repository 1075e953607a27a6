import { expect, it } from "vitest";
import { duration, mount, packages } from "./option-values.ts";

it("packages are names with versions, or without", () => {
  expect(packages("pandas==2.2,duckdb")).toEqual({ pandas: "2.2", duckdb: "" });
  expect(packages("pandas>=2,<3 @scope/name@1.2", { left: "" })).toEqual({
    left: "",
    pandas: ">=2,<3",
    "@scope/name": "1.2",
  });
  expect(() => packages("==2")).toThrow("must be packages");
});

it("times have units", () => {
  expect(["90", "90s", "30m", "2h", "1d"].map(duration)).toEqual([90, 90, 1800, 7200, 86_400]);
  for (const wrong of ["", "0", "-1", "1.5h", "soon"])
    expect(() => duration(wrong), wrong).toThrow("must be");
});

it("volumes have a name and a path", () => {
  expect(mount("b:/mnt/b", [{ name: "a", path: "/a" }])).toEqual([
    { name: "a", path: "/a" },
    { name: "b", path: "/mnt/b" },
  ]);
  expect(() => mount("data")).toThrow("must be NAME:PATH");
});

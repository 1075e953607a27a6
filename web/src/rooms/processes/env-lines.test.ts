import { expect, it } from "vitest";
import { envOf } from "./env-lines.ts";

it("reads one variable on each line, and names the line that is none", () => {
  expect(envOf("A=1\n\n export B=x = y\nEMPTY=")).toEqual({
    env: { A: "1", B: "x = y", EMPTY: "" },
    wrong: null,
  });
  expect(envOf("A=1\n2B=3").wrong).toBe("2B=3");
});

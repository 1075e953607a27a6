import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { quote } from "./quote.ts";

it("a quoted text reaches a real shell unchanged", () => {
  for (const text of ["", "a b", "it's", '$(x) `y` \\ "z"', "-n", "new\nline", "*?[]{}~!#&|;<>", "é€😀"])
    expect(execFileSync("sh", ["-c", `printf %s ${quote(text)}`], { encoding: "utf8" })).toBe(text);
});

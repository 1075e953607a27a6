import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { plainProgram } from "./plain-program.ts";

it("runs as the program with its types does, by whomever, and is made once", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-plain-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const root = join(folder, "src");
  mkdirSync(join(root, "a/b"), { recursive: true });
  writeFileSync(
    join(root, "a/main.ts"),
    'import { two } from "./b/two.ts";\nimport type { No } from "./no.ts";\nconsole.log(two(1 as number as No));\n',
  );
  writeFileSync(
    join(root, "a/b/two.ts"),
    'import { one } from "../../one.ts";\nexport const two = (n: number): number => one + n;\n',
  );
  writeFileSync(join(root, "one.ts"), "export const one: number = 1;\n");
  const umask = process.umask(0o077);
  onTestFinished(() => void process.umask(umask));
  const made = await plainProgram(root, "a/main.ts", join(folder, "home/made"));
  expect(execFileSync(process.execPath, [made], { encoding: "utf8" })).toBe("2\n");
  expect(statSync(made).mode & 0o777).toBe(0o644);
  for (const place of ["home", "home/made", "home/made/a", "home/made/a/b"])
    expect([place, statSync(join(folder, place)).mode & 0o777]).toEqual([place, 0o755]);
  rmSync(root, { recursive: true });
  expect(await plainProgram(root, "a/main.ts", join(folder, "home/made"))).toBe(made);
});

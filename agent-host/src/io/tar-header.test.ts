import { execFileSync } from "node:child_process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { TAR_END, tarHeader, tarPadding } from "./tar-header.ts";

const listed = (archive: Buffer, ...options: string[]) =>
  execFileSync("tar", ["-t", ...options, "-f", "-"], { input: archive, encoding: "utf8" });

test("tar reads names and targets of any length", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1200 }), fc.integer({ min: 1, max: 1200 }), (name, target) => {
      const link = tarHeader({
        name: Buffer.from("n".repeat(name)),
        type: "symlink",
        size: 0,
        mode: 0o777,
        mtimeS: 0,
        target: Buffer.from("t".repeat(target)),
      });
      const content = Buffer.from("content");
      const file = tarHeader({ name: Buffer.from("after"), type: "file", size: 7, mode: 0o640, mtimeS: 1 });
      const archive = Buffer.concat([link, file, content, tarPadding(7), TAR_END]);
      const lines = listed(archive, "-v").trim().split("\n");
      expect(lines[0]).toContain(` ${"n".repeat(name)} -> ${"t".repeat(target)}`);
      expect(lines[1]).toMatch(/^-rw-r----- .* 7 .* after$/);
    }),
    { numRuns: 40 },
  );
});

test("sizes beyond the plain field are said too", () => {
  const header = tarHeader({
    name: Buffer.from("huge"),
    type: "file",
    size: 10 * 1024 ** 3,
    mode: 0o644,
    mtimeS: 0,
  });
  expect(header.includes(" size=10737418240\n")).toBe(true);
});

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { packagePage } from "./package-page.ts";

it("makes links with sums of a distribution's wheels, serves on when it cannot be read, and says so when it never could", async () => {
  const folder = mkdtempSync(join(tmpdir(), "sandbar-page-"));
  const page = join(folder, "made/page.html");
  const lock = join(folder, "pyodide-lock.json");
  const sha256 = "a".repeat(64);
  const named = (file_name: string) => ({ file_name, sha256 });
  try {
    await expect(packagePage(folder, page)).rejects.toMatchObject({ code: "DEPENDENCY_FAILED" });
    const packages = { one: named("one-1-py3-none-any.whl"), lib: named("lib.zip") };
    writeFileSync(lock, JSON.stringify({ packages }));
    const text = readFileSync(await packagePage(folder, page), "utf8");
    expect(text).toContain(`<a href="file://${folder}/one-1-py3-none-any.whl#sha256=${sha256}">`);
    expect(text).not.toContain("lib.zip");
    writeFileSync(lock, JSON.stringify({ packages: { out: named('../x".whl') } }));
    expect(readFileSync(await packagePage(folder, page), "utf8")).toBe(text);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

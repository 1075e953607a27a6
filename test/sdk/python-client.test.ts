import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import { REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const PACKAGE = join(REPO, "sdk/python");
const CACHE = join(REPO, "node_modules/.cache/python-client");
const VENV = join(CACHE, "venv");
const run = promisify(execFile);

describe("the Python client", () => {
  beforeAll(async () => {
    await prepareVenv();
  }, 600_000);
  const { stack } = useStack();

  it("passes its own suite against the product", async () => {
    const scratch = join(CACHE, "tmp");
    const report = await python(["-m", "pytest", "-q", "-rs", "--durations=5", "--basetemp", scratch], {
      SANDBAR_URL: stack.url,
      SANDBAR_API_KEY: stack.key,
    });
    rmSync(scratch, { recursive: true, force: true });
    console.log(report);
    expect(report).toMatch(/\d+ passed/);
    // Skips are for routes that the server does not have, never for a missing server or package.
    expect(report).not.toMatch(/SKIPPED.*(SANDBAR_URL|could not import)/);
  }, 300_000);

  it("stops every session that the suite began", async () => {
    const { data } = await stack.client().ok<{ data: unknown[] }>("GET", "/v1/sessions?status=ready");
    expect(data).toEqual([]);
  });

  it("is typed, clean, and its blocking half is the asynchronous one", async () => {
    await python(["-m", "mypy", "--cache-dir", join(CACHE, "mypy")]);
    await python(["-m", "ruff", "check", "--no-cache", "."]);
    await python(["-m", "ruff", "format", "--no-cache", "--check", "."]);
    await python(["scripts/unasync.py", "--check"]);
  }, 300_000);

  it("builds a wheel that holds the whole package", async () => {
    const out = mkdtempSync(join(tmpdir(), "sandbar-wheel-"));
    try {
      await python(["-m", "build", "--wheel", "--no-isolation", "--outdir", out]);
      const [wheel, ...others] = readdirSync(out);
      expect(wheel).toMatch(/^sandbar-.*-py3-none-any\.whl$/);
      expect(others).toEqual([]);
      const names = await python(["-m", "zipfile", "-l", join(out, wheel!)]);
      for (const name of [
        "py.typed",
        "__init__.py",
        "langchain/__init__.py",
        "_sync/_client.py",
        "_async/_client.py",
      ])
        expect(names).toContain(`sandbar/${name}`);
      expect(names).not.toMatch(/tests|scripts/);
    } finally {
      rmSync(out, { recursive: true, force: true });
    }
  }, 120_000);
});

async function python(args: string[], env: Record<string, string> = {}): Promise<string> {
  try {
    const { stdout } = await run(join(VENV, "bin/python"), args, {
      cwd: PACKAGE,
      env: { ...process.env, PYTHONDONTWRITEBYTECODE: "1", ...env },
      maxBuffer: 32 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`python ${args.join(" ")} failed\n${stdout}\n${stderr}`, { cause: error });
  }
}

/** Made anew when pyproject.toml changes; the source itself is installed editable. */
async function prepareVenv(): Promise<void> {
  const stamp = join(CACHE, "stamp");
  const wanted = createHash("sha256")
    .update(readFileSync(join(PACKAGE, "pyproject.toml")))
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted) return;
  rmSync(CACHE, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  await run("python3", ["-m", "venv", VENV]);
  const quietly = ["--quiet", "--disable-pip-version-check", "--no-cache-dir"];
  await python(["-m", "pip", "install", ...quietly, "-e", ".[test]"]);
  writeFileSync(stamp, wanted);
}

/**
 * `npm test`: prepares what the tests need, checks format and types, runs every vitest project, and ends with one
 * plain line, `N passed, N failed`.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { mkdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { ensureDockerEngine } from "@sandbar/agent-host/setup/docker-engine.ts";
import { ensureImages } from "@sandbar/agent-host/setup/images.ts";
import { buildWorker } from "@sandbar/worker/build.ts";

const REPO = resolve(import.meta.dirname, "..");
const began = Date.now();
const say = (line: string) =>
  console.log(`[${((Date.now() - began) / 1000).toFixed(1).padStart(6)}s] ${line}`);
const only = process.argv.slice(2);

if (only.includes("--help")) {
  console.log("Usage: npm test [-- <vitest filters>]\n\nWithout filters: format, lint, types and all tests.");
  process.exit(0);
}

let passed = 0;
let failed = 0;
function count(name: string, ok: boolean): void {
  if (ok) passed++;
  else failed++;
  say(`${name}: ${ok ? "ok" : "FAILED"}`);
}

try {
  await ensureDockerEngine({ log: say });
  await ensureImages({ names: ["python", "node", "r"], log: say });
  if (only.length === 0) {
    count("format and lint", (await run(["biome", "check", "."])) === 0);
    count("types", (await run(["tsc", "-b"])) === 0);
    count(
      "Cloudflare build (wrangler dry run)",
      (await run([process.execPath, "worker/deploy/deploy.ts", "--dry-run"])) === 0,
    );
  }
  await buildWorker();
  const report = join(REPO, "node_modules/.cache/sandbar-test-report.json");
  mkdirSync(join(report, ".."), { recursive: true });
  rmSync(report, { force: true });
  const code = await run([
    "vitest",
    "run",
    "--reporter=default",
    "--reporter=json",
    `--outputFile.json=${report}`,
    ...only,
  ]);
  const result = JSON.parse(readFileSync(report, "utf8")) as {
    numPassedTests: number;
    numFailedTests: number;
    numPendingTests: number;
    numFailedTestSuites: number;
    testResults: { assertionResults: { status: string; fullName: string; failureMessages?: string[] }[] }[];
  };
  for (const { status, fullName, failureMessages } of result.testResults.flatMap(
    (file) => file.assertionResults,
  ))
    if (status === "passed" && failureMessages?.length)
      say(`FLAKY, passed at its second attempt: ${fullName}`);
    else if (status !== "passed" && status !== "failed") say(`not run (${status}): ${fullName}`);
  passed += result.numPassedTests;
  failed += result.numFailedTests;
  // A suite that fails in its hooks, or a leak that vitest reports, fails without a failed test.
  if (code !== 0 && result.numFailedTests === 0) failed += Math.max(1, result.numFailedTestSuites);
} catch (error) {
  console.error(error);
  failed++;
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed === 0 ? 0 : 1);

function run(command: string[]): Promise<number> {
  const [file, ...args] = command;
  const path = `${join(REPO, "node_modules/.bin")}:${process.env.PATH}`;
  const child = spawn(file!, args, { cwd: REPO, stdio: "inherit", env: { ...process.env, PATH: path } });
  return new Promise((resolve) => {
    child.once("error", () => resolve(127));
    child.once("exit", (status) => resolve(status ?? 1));
  });
}

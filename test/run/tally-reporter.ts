/** @module A vitest reporter that leaves a stage's tally in the file that SANDBAR_TEST_TALLY names. */
import { writeFileSync } from "node:fs";
import type { Reporter, TestCase, TestModule, TestRunEndReason } from "vitest/node";
import type { Tally } from "./tally.ts";

export default class TallyReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly unknown[], reason: TestRunEndReason): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()]);
    const failed = tests.filter((test) => test.result().state === "failed").length;
    // A file or a suite that fails in its hooks, or a leak that vitest reports, fails without a failed test.
    const broken = modules.filter((module) => module.state() === "failed" && !hasFailedTest(module)).length;
    const otherwise = reason === "failed" && failed + broken === 0 ? Math.max(1, errors.length) : 0;
    const tally: Tally = {
      passed: tests.filter((test) => test.result().state === "passed").length,
      failed: failed + broken + otherwise,
      flaky: tests.filter((test) => test.diagnostic()?.flaky).map(withItsError),
      notRun: tests
        .filter((test) => ["skipped", "pending"].includes(test.result().state))
        .map((test) => test.fullName),
      files: modules.map((module) => {
        const { duration, collectDuration } = module.diagnostic();
        return { file: module.relativeModuleId, ms: Math.round(duration + collectDuration) };
      }),
    };
    writeFileSync(process.env.SANDBAR_TEST_TALLY!, JSON.stringify(tally));
  }
}

/** vitest shows only the errors of tests that failed in the end. */
function withItsError(test: TestCase): string {
  const [error] = test.result().errors ?? [];
  if (!error) return test.fullName;
  const where = error.stacks?.find(({ file }) => file.includes("/test/"));
  return `${test.fullName}\n  ${error.message}\n  at ${where ? `${where.file}:${where.line}` : "an unknown place"}`;
}

function hasFailedTest(module: TestModule): boolean {
  for (const _ of module.children.allTests("failed")) return true;
  return false;
}

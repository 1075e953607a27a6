import { resolve } from "node:path";
import { defineConfig } from "vitest/config";

const exclude = ["**/node_modules/**", "**/dist/**"];

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: "unit",
          include: [
            "{shared,worker,agent,agent-host,sdk,web,cli}/{src,local,setup,deploy,wasm}/**/*.test.ts",
            "docs/*.test.ts",
            "bench/chaos/*.test.ts",
            "test/run/*.test.ts",
          ],
          exclude,
          // Pure functions need no process of their own, and loading the same modules for each file took most of the time.
          isolate: false,
          testTimeout: 30_000,
          sequence: { groupOrder: 0 },
        },
      },
      "test/workerd/vitest.config.ts",
      {
        test: {
          name: "e2e",
          include: ["test/**/*.test.ts", "agent-host/test/*.test.ts"],
          exclude: [...exclude, "test/workerd/**", "test/run/**"],
          pool: "forks",
          // Each file has a stack of its own; more than two at once would measure the machine, not the product.
          maxWorkers: 2,
          sequence: { groupOrder: 2 },
          // What needs its second attempt is named as flaky, and fails the run in CI.
          retry: 1,
          // For a busy machine: nothing is lost by waiting for what comes anyway.
          testTimeout: 120_000,
          hookTimeout: 240_000,
          // Every stack starts three Node processes of the same code; compiled once, each takes half the CPU time.
          env: { NODE_COMPILE_CACHE: resolve(import.meta.dirname, "node_modules/.cache/node-compile") },
        },
      },
    ],
  },
});

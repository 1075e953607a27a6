import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { cloudflareTest, readD1Migrations } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

const here = dirname(fileURLToPath(import.meta.url));
const repo = resolve(here, "../..");

export default defineConfig({
  root: repo,
  plugins: [
    cloudflareTest(async () => ({
      main: resolve(repo, "worker/src/index.ts"),
      wrangler: { configPath: resolve(repo, "wrangler.toml") },
      miniflare: {
        // The newest date that the plugin's own workerd knows.
        compatibilityDate: "2026-09-25",
        // The agent's Worker is not part of these tests.
        serviceBindings: { AGENT: () => new Response(null, { status: 503 }) },
        bindings: {
          SECRETS_KEY: "of-tests",
          METRICS_TOKEN: "of-prometheus",
          TEST_MIGRATIONS: await readD1Migrations(resolve(repo, "migrations")),
        },
      },
    })),
  ],
  test: {
    name: "workerd",
    dir: here,
    include: ["**/*.test.ts"],
    setupFiles: [resolve(here, "setup.ts")],
    testTimeout: 60_000,
    sequence: { groupOrder: 1 },
  },
});

import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { firstLoadBudget } from "./first-load-budget.ts";

/** What the product answers, and what the dev server passes on to it. */
const OF_THE_PRODUCT = [
  "/v1",
  "/console",
  "/preview",
  "/docs",
  "/openapi.json",
  "/healthz",
  "/mcp",
  "/langgraph",
];

const product = process.env.SANDBAR_URL ?? "http://127.0.0.1:8787";
const apiKey = process.env.SANDBAR_API_KEY;

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), tailwindcss(), firstLoadBudget(250 * 1024)],
  build: {
    outDir: "dist",
    emptyOutDir: true,
    target: ["chrome123", "firefox128", "safari17.5"],
    // data: URLs would need a wider policy than 'self'.
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1500,
    // It would put an inline-like helper into every page; these browsers have module preload.
    modulePreload: { polyfill: false },
  },
  server: {
    proxy: Object.fromEntries(
      OF_THE_PRODUCT.map((path) => [
        path,
        {
          target: product,
          changeOrigin: true,
          ws: true,
          // The product lets a cookie change something only from its own origin.
          headers: {
            origin: new URL(product).origin,
            ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}),
          },
        },
      ]),
    ),
  },
});

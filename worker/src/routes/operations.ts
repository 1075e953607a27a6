/** @module `/healthz`, `/metrics`. */
import { createRoute, z } from "@hono/zod-openapi";
import { figures } from "../monitoring/figures.ts";
import { deepHealth } from "../monitoring/health.ts";
import { type App, HealthBody, json, refused, secured } from "../openapi.ts";

export function operationRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/healthz",
      tags: ["operations"],
      summary: "Whether the control plane answers",
      description:
        "With `?deep` it asks the database, the blob store, an object and whether a host is linked; an answer is good for some seconds. Needs no key.",
      request: { query: z.object({ deep: z.string().max(16).optional() }) },
      responses: { 200: json(HealthBody, "It does"), 503: json(HealthBody, "Some part does not") },
    }),
    async (c) => {
      const { deep } = c.req.valid("query");
      if (deep === undefined || deep === "false" || deep === "0")
        // By the date a host sees whether its clock is right; not every server says it by itself.
        return c.json({ status: "ok" as const }, 200, { Date: new Date().toUTCString() });
      const health = await deepHealth(c.env);
      return c.json(health, health.status === "ok" ? 200 : 503, { "Cache-Control": "no-store" });
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/metrics",
      tags: ["operations"],
      summary: "Prometheus metrics",
      description: "For a key with the scope operator, or the token `METRICS_TOKEN`.",
      security: secured,
      responses: {
        200: { content: { "text/plain": { schema: z.string() } }, description: "Metrics" },
        ...refused,
      },
    }),
    async (c) =>
      c.text(await figures(c.env), 200, {
        "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
      }),
  );
}

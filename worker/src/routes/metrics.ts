/** @module What sessions use: `/v1/sessions/{id}/metrics`, `/v1/metrics/sessions`. */
import { createRoute } from "@hono/zod-openapi";
import { AllSessionMetricsSchema, SessionMetricsSchema } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { allSessionMetrics } from "../metrics/samples.ts";
import { type App, json, refused, secured } from "../openapi.ts";
import { callersSession } from "./request.ts";
import { SessionParams } from "./sessions.ts";

export function metricRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/metrics",
      tags: ["sessions"],
      summary: "What a session uses: CPU, memory, processes, disk",
      description:
        "Samples of about the last ten minutes, the oldest first; the last one is of now. Asking is not use of the session.",
      security: secured,
      request: { params: SessionParams },
      responses: { 200: json(SessionMetricsSchema, "Samples and limits"), ...refused },
    }),
    async (c) => c.json(unwrap(await callersSession(c, c.req.valid("param").id).metrics()), 200),
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/metrics/sessions",
      tags: ["sessions"],
      summary: "What all running sessions use",
      description:
        "The newest samples of each, at most 30. Sessions whose host does not answer now are left out. Asking is not use of the sessions.",
      security: secured,
      responses: { 200: json(AllSessionMetricsSchema, "Samples by session"), ...refused },
    }),
    async (c) => c.json(await allSessionMetrics(c.env, c.get("caller").tenant), 200),
  );
}

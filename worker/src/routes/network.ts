/** @module `/v1/sessions/{id}/network`: what a session may reach, and what it did. */
import { createRoute } from "@hono/zod-openapi";
import { NetworkRulesSchema, SessionNetworkSchema } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { withoutValues } from "../network/secret-values.ts";
import { type App, body, json, refused, secured } from "../openapi.ts";
import { callersSession } from "./request.ts";
import { SessionParams } from "./sessions.ts";

export function networkRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/network",
      tags: ["sessions"],
      summary: "Get what a session may reach, and what it has reached",
      description: "Of sessions that were created with rules. Counts begin anew when the host's daemon does.",
      security: secured,
      request: { params: SessionParams },
      responses: { 200: json(SessionNetworkSchema, "Rules and use"), ...refused },
    }),
    async (c) => c.json(unwrap(await callersSession(c, c.req.valid("param").id).network()), 200),
  );

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/sessions/{id}/network",
      tags: ["sessions"],
      summary: "Change what a session may reach",
      description:
        "Instead of the rules before. They hold when this answers; connections that they do not allow have ended.",
      security: secured,
      request: { params: SessionParams, body: body(NetworkRulesSchema) },
      responses: { 200: json(SessionNetworkSchema, "Rules and use as they are now"), ...refused },
    }),
    async (c) => {
      const session = callersSession(c, c.req.valid("param").id);
      const { rules, sealed } = await withoutValues(c.env, c.get("caller").tenant, c.req.valid("json"));
      return c.json(unwrap(await session.setNetwork(rules, sealed)), 200);
    },
  );
}

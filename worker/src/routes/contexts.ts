/** @module `/v1/sessions/:id/contexts`, `/state` and `/complete`: a session's kernels and what they know. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  CompleteSchema,
  CompletionSchema,
  ContextRefSchema,
  ContextStateSchema,
  CreateContextSchema,
} from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { type App, body, ContextBody, json, listOf, refused, secured } from "../openapi.ts";
import { callersSession } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const ContextParams = SessionParams.extend({ cid: z.string().max(64) });

export function contextRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/contexts",
      tags: ["contexts"],
      summary: "List contexts",
      security: secured,
      request: { params: SessionParams },
      responses: { 200: json(listOf(ContextBody), "The session's contexts"), ...refused },
    }),
    async (c) => {
      const data = unwrap(await callersSession(c, c.req.valid("param").id).contexts());
      return c.json({ data, next_cursor: null }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/contexts",
      tags: ["contexts"],
      summary: "Get or create a context",
      security: secured,
      request: { params: SessionParams, body: body(CreateContextSchema) },
      responses: {
        200: json(ContextBody, "The context that has this name already"),
        201: json(ContextBody, "A new context"),
        ...refused,
      },
    }),
    async (c) => {
      const { name, language } = c.req.valid("json");
      const session = callersSession(c, c.req.valid("param").id);
      const { context, created } = unwrap(await session.createContext(name, language));
      return created ? c.json(context, 201) : c.json(context, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/sessions/{id}/contexts/{cid}",
      tags: ["contexts"],
      summary: "Close a context",
      security: secured,
      request: { params: ContextParams },
      responses: { 204: { description: "It is closed" }, ...refused },
    }),
    async (c) => {
      const { id, cid } = c.req.valid("param");
      unwrap(await callersSession(c, id).removeContext(cid));
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/contexts/{cid}/restart",
      tags: ["contexts"],
      summary: "Restart a context's kernel",
      security: secured,
      request: { params: ContextParams },
      responses: { 202: json(ContextBody, "The restart is on its way"), ...refused },
    }),
    async (c) => {
      const { id, cid } = c.req.valid("param");
      return c.json(unwrap(await callersSession(c, id).restartContext(cid)), 202);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/state",
      tags: ["contexts"],
      summary: "Variables, imports and the working folder of a context",
      security: secured,
      request: { params: SessionParams, query: z.object({ context: ContextRefSchema.optional() }) },
      responses: {
        200: json(ContextStateSchema, "The first 500 variables, and how many there are"),
        ...refused,
      },
    }),
    async (c) => {
      const { context } = c.req.valid("query");
      const session = callersSession(c, c.req.valid("param").id);
      return c.json(unwrap(await session.state(context ?? null)), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/complete",
      tags: ["contexts"],
      summary: "Complete code",
      description:
        "What could stand at the cursor, as the context's kernel knows it. A context that runs code is not disturbed: " +
        "the answer is `busy`, at once. One that has no kernel has no matches, and none is started.",
      security: secured,
      request: { params: SessionParams, body: body(CompleteSchema) },
      responses: {
        200: json(CompletionSchema, "At most 200 matches, for the code from `start` to `end`"),
        ...refused,
      },
    }),
    async (c) => {
      const { code, cursor, context } = c.req.valid("json");
      const session = callersSession(c, c.req.valid("param").id);
      return c.json(unwrap(await session.complete(context ?? null, code, cursor)), 200);
    },
  );
}

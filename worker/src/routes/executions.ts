/** @module `/v1/sessions/:id/executions`: run code, follow it, interrupt it. */
import { createRoute, z } from "@hono/zod-openapi";
import { CreateExecutionSchema, type Execution, idSchema, newId, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import { unwrap } from "../answer.ts";
import type { AppEnv } from "../app-env.ts";
import { executionWithLinks } from "../artifacts/links.ts";
import {
  type App,
  body,
  ExecutionBody,
  events,
  json,
  listOf,
  PageQuery,
  refused,
  secured,
} from "../openapi.ts";
import { countExecution } from "../rates/rate-limits.ts";
import type { StoredRecord } from "../session/journal.ts";
import { canonical } from "../session/spec.ts";
import { refuseBeyond } from "../session/sse.ts";
import { sha256Hex } from "../tokens.ts";
import { linkBase } from "./artifacts.ts";
import {
  callersSession,
  eventStream,
  idempotencyKey,
  lastEventId,
  prefersAsync,
  usualHeaders,
  wantsEvents,
} from "./request.ts";
import { SessionParams } from "./sessions.ts";

const ExecutionParams = SessionParams.extend({ eid: z.string() });
const ExecutionId = idSchema("exe");

function executionId(eid: string): string {
  if (!ExecutionId.safeParse(eid).success) throw new SandbarError("NOT_FOUND", "No such execution");
  return eid;
}

const linked = (c: Context<AppEnv>, execution: Execution) =>
  executionWithLinks(c.env, linkBase(c), execution);

/** An execution's events after where the caller left off. */
async function followed(c: Context<AppEnv>, session: ReturnType<typeof callersSession>, execution: string) {
  const { credential } = c.get("caller");
  return unwrap(await session.executionEvents(execution, lastEventId(c), linkBase(c).origin, credential));
}

/** As it is stored; only artifacts have links to add. */
async function finished(c: Context<AppEnv>, { json, artifacts }: StoredRecord) {
  if (artifacts > 0) return c.json(await linked(c, JSON.parse(json) as Execution), 200);
  return new Response(json, {
    headers: { "Content-Type": "application/json", ...usualHeaders(c.get("requestId")) },
  }) as never;
}

export function executionRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/executions",
      tags: ["executions"],
      summary: "Run code",
      description:
        "`Accept: application/json` waits for the end, `Accept: text/event-stream` streams, `Prefer: respond-async` " +
        "answers at once. With an `Idempotency-Key` the code starts at most once, however often it is asked for.",
      security: secured,
      request: {
        params: SessionParams,
        body: body(CreateExecutionSchema),
      },
      // Only described: a validator would read all headers of each request.
      parameters: [{ in: "header", name: "idempotency-key", schema: { type: "string" } }],
      responses: {
        200: {
          description: "The execution after its end, or its events",
          content: {
            "application/json": { schema: ExecutionBody },
            "text/event-stream": { schema: z.string() },
          },
        },
        202: json(ExecutionBody, "The execution, accepted"),
        ...refused,
      },
    }),
    async (c) => {
      countExecution(c);
      const { id } = c.req.valid("param");
      const request = c.req.valid("json");
      const session = callersSession(c, id);
      const streams = wantsEvents(c);
      const key = idempotencyKey(c);
      // Before it is begun: without a key it has no events yet.
      if (streams && key === null && lastEventId(c) > 0) unwrap(refuseBeyond(0));
      const submission = {
        execution: newId("exe"),
        request,
        idempotency_key: key,
        created_by: c.get("caller").made_by,
        cause: c.get("cause"),
        digest: key === null ? "" : await sha256Hex(canonical(request)),
      };
      if (!streams && !prefersAsync(c)) return finished(c, unwrap(await session.run(submission)));
      const execution = unwrap(await session.submit(submission));
      const location = `/v1/sessions/${id}/executions/${execution.id}`;
      if (streams) {
        const stream = await followed(c, session, execution.id);
        return eventStream(stream, { Location: location }) as never;
      }
      return c.json(await linked(c, execution), 202, {
        Location: location,
        "Preference-Applied": "respond-async",
      });
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/executions",
      tags: ["executions"],
      summary: "List executions, newest first",
      security: secured,
      request: { params: SessionParams, query: PageQuery },
      responses: { 200: json(listOf(ExecutionBody), "A page of executions"), ...refused },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid("query");
      const session = callersSession(c, c.req.valid("param").id);
      const found = unwrap(await session.executions(cursor ?? null, limit));
      const data = await Promise.all(found.data.map((execution) => linked(c, execution)));
      return c.json({ data, next_cursor: found.more ? data.at(-1)!.id : null }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/executions/{eid}",
      tags: ["executions"],
      summary: "Get an execution, with its output so far",
      security: secured,
      request: { params: ExecutionParams },
      responses: { 200: json(ExecutionBody, "The execution"), ...refused },
    }),
    async (c) => {
      const { id, eid } = c.req.valid("param");
      return c.json(await linked(c, unwrap(await callersSession(c, id).execution(executionId(eid)))), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/executions/{eid}/events",
      tags: ["executions"],
      summary: "Follow an execution",
      description:
        "From the start, or after `Last-Event-ID` (or `?last_event_id=`). Exactly one `finished`, last.",
      security: secured,
      request: { params: ExecutionParams },
      responses: { 200: events("Server-sent events"), ...refused },
    }),
    async (c) => {
      const { id, eid } = c.req.valid("param");
      const session = callersSession(c, id);
      return eventStream(await followed(c, session, executionId(eid))) as never;
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/executions/{eid}/interrupt",
      tags: ["executions"],
      summary: "Interrupt an execution",
      security: secured,
      request: { params: ExecutionParams },
      responses: {
        202: json(ExecutionBody, "The interrupt is on its way, or had nothing to do"),
        ...refused,
      },
    }),
    async (c) => {
      const { id, eid } = c.req.valid("param");
      const session = callersSession(c, id);
      unwrap(await session.interrupt(executionId(eid)));
      return c.json(await linked(c, unwrap(await session.execution(eid))), 202);
    },
  );
}

/** @module `/v1/sessions`: get-or-create, look, list, end. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  CreateSessionSchema,
  newId,
  SandbarError,
  type Session,
  SessionKeySchema,
  SessionStatusSchema,
} from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { listSessions } from "../db/sessions.ts";
import { requestWithoutValues } from "../network/secret-values.ts";
import {
  type App,
  body,
  events,
  flag,
  json,
  listOf,
  PageQuery,
  page,
  refused,
  SessionBody,
  secured,
} from "../openapi.ts";
import { sessionKeyObject, sessionObject } from "../rpc.ts";
import type { LifeState } from "../session/machine.ts";
import { beginning } from "../snapshots/origin.ts";
import { sha256Hex } from "../tokens.ts";
import { callersSession, eventStream, lastEventId, prefersAsync } from "./request.ts";

export const SessionParams = z.object({ id: z.string().openapi({ example: "ses_01k9" }) });

const ListQuery = PageQuery.extend({
  key: SessionKeySchema.optional(),
  status: SessionStatusSchema.optional(),
  label: z
    .string()
    .max(512)
    .regex(/^[^:=]+[:=]/, "must be name:value")
    .optional(),
});

export function sessionRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions",
      tags: ["sessions"],
      summary: "Get or create a session",
      description:
        "Waits until the session is ready; `Prefer: respond-async` answers 202 at once. With `snapshot` it begins with the files and variables of that, and with its specification where the request has none.",
      security: secured,
      request: { body: body(CreateSessionSchema) },
      responses: {
        200: json(SessionBody, "The session that this key has already"),
        201: json(SessionBody, "A new session, ready"),
        202: json(SessionBody, "A new session, still being created"),
        ...refused,
      },
    }),
    async (c) => {
      const { tenant, made_by: created_by } = c.get("caller");
      const { request: asked, sealed } = await requestWithoutValues(c.env, tenant, c.req.valid("json"));
      const begun = async () => ({
        tenant,
        sealed_values: sealed,
        created_by,
        cause: c.get("cause"),
        ...(await beginning(c.env, tenant, asked)),
      });
      let session: Session;
      let created = true;
      const wait = !prefersAsync(c);
      const { key } = asked;
      if (key === undefined) {
        const id = newId("ses");
        const made = await sessionObject(c.env, tenant, id).create({ ...(await begun()), id, key: id }, wait);
        session = unwrap(made);
      } else {
        const keys = sessionKeyObject(c.env, tenant, await sha256Hex(key));
        const wanted = { tenant, key, asked };
        // A session outlives the snapshot that it began with.
        const found = asked.snapshot === undefined ? null : await keys.get(wanted);
        ({ session, created } = found
          ? { session: unwrap(found), created: false }
          : unwrap(await keys.getOrCreate({ ...(await begun()), ...wanted })));
      }
      c.header("Location", `/v1/sessions/${session.id}`);
      if (!wait && session.status === "creating") {
        c.header("Preference-Applied", "respond-async");
        return c.json(session, 202);
      }
      if (session.status === "creating")
        session = unwrap(await sessionObject(c.env, tenant, session.id).whenReady());
      return c.json(session, created ? 201 : 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions",
      tags: ["sessions"],
      summary: "List sessions, newest first",
      security: secured,
      request: { query: ListQuery },
      responses: { 200: json(listOf(SessionBody), "A page of sessions"), ...refused },
    }),
    async (c) => {
      const { limit, cursor, key, status, label } = c.req.valid("query");
      const { tenant } = c.get("caller");
      const filter = {
        key,
        states: status === undefined ? undefined : storedAs(status),
        label: label === undefined ? undefined : splitLabel(label),
      };
      const rows = await listSessions(c.env.DB, tenant, filter, cursor ?? null, limit + 1);
      const found = page(rows, limit);
      // D1 does not know which of the ready ones are busy, and hears a little later of what is new.
      const current = await Promise.all(
        found.data.map(async (row) => {
          if (row.status !== "creating" && status !== "ready" && status !== "busy") return row;
          const answer = await sessionObject(c.env, tenant, row.id).describe();
          return "value" in answer ? answer.value : row;
        }),
      );
      found.data = current.filter((row) => status === undefined || row.status === status);
      return c.json(found, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}",
      tags: ["sessions"],
      summary: "Get a session",
      security: secured,
      request: { params: SessionParams },
      responses: { 200: json(SessionBody, "The session"), ...refused },
    }),
    async (c) => c.json(unwrap(await callersSession(c, c.req.valid("param").id).describe()), 200),
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/sessions/{id}",
      tags: ["sessions"],
      summary: "End a session",
      description:
        "`purge=true` also removes the folder that a session with storage `BIND` leaves on its host; for one that has ended already, too.",
      security: secured,
      request: { params: SessionParams, query: z.object({ purge: flag.optional() }) },
      responses: { 204: { description: "It has ended, or is about to" }, ...refused },
    }),
    async (c) => {
      const session = callersSession(c, c.req.valid("param").id);
      unwrap(await session.stop("deleted"));
      if (c.req.valid("query").purge) unwrap(await session.removeFolder());
      return c.body(null, 204);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/events",
      tags: ["sessions"],
      summary: "Follow a session's states and the progress of its creation",
      description:
        "Events `status` (a Session), `progress` (`{step, detail}`), `network` (`{connections, dropped}`: what code has reached, of a session with rules) and `context.lost` (`{context, reason, at}`: its variables went while no code ran in it), until the session has ended.",
      security: secured,
      request: { params: SessionParams },
      responses: { 200: events("Server-sent events"), ...refused },
    }),
    async (c) => {
      const session = callersSession(c, c.req.valid("param").id);
      return eventStream(
        unwrap(await session.sessionEvents(lastEventId(c), c.get("caller").credential)),
      ) as never;
    },
  );
}

function storedAs(status: Session["status"]): LifeState[] {
  if (status === "ready" || status === "busy") return ["ready", "creating"];
  return [status];
}

function splitLabel(label: string): [string, string] {
  const at = label.search(/[:=]/);
  if (at < 1) throw new SandbarError("VALIDATION_FAILED", "label must be name:value");
  return [label.slice(0, at), label.slice(at + 1)];
}

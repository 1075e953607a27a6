/** @module `/v1/events`: what happens in the tenant, as it happens. */
import { createRoute } from "@hono/zod-openapi";
import { SandbarError } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { type App, events, refused, secured } from "../openapi.ts";
import { tenantObject } from "../rpc.ts";
import { type Cursor, readCursor } from "../tenant/event-source.ts";
import { eventStream, lastEventIdText } from "./request.ts";

export function eventRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/events",
      tags: ["operations"],
      summary: "Follow what happens in the tenant",
      description:
        "Events `session` (a Session), `execution` (when it begins and when it has ended), `artifact` (its descriptor) and, with the scope operator, `host` (a Host). `hello` is the first of every connection. Without `Last-Event-ID` it begins now. `reset` says that what followed the position is not kept any more: read the lists again. Events come at least once, a session's in order.",
      security: secured,
      responses: { 200: events("Server-sent events, without an end"), ...refused },
    }),
    async (c) => {
      const { tenant, credential, scopes } = c.get("caller");
      const agent = scopes.has("agent");
      const operator = scopes.has("operator");
      if (!agent && !operator)
        throw new SandbarError("FORBIDDEN", "This needs a key with the scope agent or operator");
      const reader = { tenant, credential, origin: new URL(c.req.url).origin, agent, operator };
      const after = position(lastEventIdText(c));
      return eventStream(unwrap(await tenantObject(c.env, tenant).events(after, reader))) as never;
    },
  );
}

function position(id: string): Cursor | null {
  if (id === "") return null;
  const cursor = readCursor(id);
  if (cursor) return cursor;
  const message = "must be the id of an event of this stream";
  throw new SandbarError("VALIDATION_FAILED", `Last-Event-ID ${message}`, {
    errors: [{ path: "Last-Event-ID", message }],
  });
}

/** @module `/v1/sessions/{id}/tokens`: tokens with which others get this one session. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  CreateSessionTokenSchema,
  NewSessionTokenSchema,
  SandbarError,
  SessionTokenSchema,
  TOKEN_LIMIT,
} from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { forgetKeys } from "../auth.ts";
import { addToken, deleteToken, listTokens } from "../db/session-tokens.ts";
import { type App, body, json, listOf, PageQuery, page, refused, secured } from "../openapi.ts";
import { sessionTokenOf } from "../session-token.ts";
import { callersSession } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const ENDED = new Set(["stopped", "lost", "failed"]);

export function sessionTokenRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/tokens",
      tags: ["tokens"],
      summary: "Make a token for this session alone",
      description:
        "For a browser, an end user or an agent: it stands wherever an API key may, for this session and the named verbs. `run`: code, contexts, processes. `files`: files, imported text, exports, datasets from a body. `terminal`: shells. `ports`: servers inside, previews. `read`: executions, their output, artifacts, metrics, processes. Each of them includes the session itself and its events. It ends after `ttl_s` (a minute to a day, by default an hour), with the session, with the key that made it, or when it is deleted; what it has open ends within 5 seconds of that.",
      security: secured,
      request: { params: SessionParams, body: body(CreateSessionTokenSchema) },
      responses: {
        201: json(NewSessionTokenSchema, "The token; it is shown only now"),
        ...refused,
      },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { verbs, ttl_s, label = null } = c.req.valid("json");
      const { tenant, key_id, expires_at: longest } = c.get("caller");
      const { status } = unwrap(await callersSession(c, id).describe());
      if (ENDED.has(status)) throw new SandbarError("SESSION_ENDED");
      const wanted = new Date(Date.now() + ttl_s * 1000).toISOString();
      const expires_at = longest !== null && longest < wanted ? longest : wanted;
      const made = await addToken(c.env.DB, { tenant, session_id: id, key_id, verbs, label, expires_at });
      if (!made) throw new SandbarError("QUOTA_EXCEEDED", `The session has its ${TOKEN_LIMIT} tokens`);
      c.set("audit", { detail: `${made.id}: ${verbs.join(" and ")}, until ${expires_at}` });
      const token = await sessionTokenOf(c.env, made);
      return c.json({ ...made, token }, 201, { "Cache-Control": "no-store" });
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/sessions/{id}/tokens",
      tags: ["tokens"],
      summary: "List a session's tokens, newest first",
      description: "Those that have not ended, without the tokens themselves.",
      security: secured,
      request: { params: SessionParams, query: PageQuery },
      responses: { 200: json(listOf(SessionTokenSchema), "A page of tokens"), ...refused },
    }),
    async (c) => {
      const { id } = c.req.valid("param");
      const { limit, cursor } = c.req.valid("query");
      unwrap(await callersSession(c, id).describe());
      const rows = await listTokens(c.env.DB, c.get("caller").tenant, id, cursor ?? null, limit + 1);
      return c.json(page(rows, limit), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/sessions/{id}/tokens/{tid}",
      tags: ["tokens"],
      summary: "Take a token back",
      description: "Within 5 seconds it is worth nothing anywhere, and what it has open has ended.",
      security: secured,
      request: { params: SessionParams.extend({ tid: z.string().max(64) }) },
      responses: { 204: { description: "It is taken back" }, ...refused },
    }),
    async (c) => {
      const { id, tid } = c.req.valid("param");
      // Who has no such session hears of that, whatever the token.
      unwrap(await callersSession(c, id).describe());
      if (!(await deleteToken(c.env.DB, c.get("caller").tenant, id, tid)))
        throw new SandbarError("NOT_FOUND", "No such token");
      c.set("audit", { detail: tid });
      forgetKeys();
      return c.body(null, 204);
    },
  );
}

/** @module `/preview/:token/*`: a session's server for a browser, by a link that carries its own proof. */
import { createRoute, z } from "@hono/zod-openapi";
import { PreviewSchema, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import { unwrap } from "../answer.ts";
import type { AppEnv } from "../app-env.ts";
import { callerBy } from "../auth.ts";
import { ownOrigin } from "../console/own-origin.ts";
import { type App, json, refused, secured } from "../openapi.ts";
import { headersForPreview, headersForPreviewedServer, sharedWith } from "../tunnel/port-headers.ts";
import { openPreviewToken, previewToken } from "../tunnel/preview-token.ts";
import { portOf, reachPort } from "./ports.ts";
import { callersSession } from "./request.ts";
import { SessionParams } from "./sessions.ts";

const LIFE_S = 3600;
const MOUNT = /^\/preview\/[^/]+/;

export function previewRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/sessions/{id}/ports/{port}/preview",
      tags: ["processes"],
      summary: "Make a link that shows a port in a browser",
      description:
        "The link works for an hour, for whoever has it, without key or cookie: HTTP and WebSockets. It ends sooner with the key, or " +
        "with the browser's session, that made it. Its pages always run in an origin of their own " +
        "(`Content-Security-Policy: sandbox …`), and the server sees where it is mounted in `X-Forwarded-Prefix`.",
      security: secured,
      request: { params: SessionParams.extend({ port: z.string() }) },
      responses: { 201: json(PreviewSchema, "The link"), ...refused },
    }),
    async (c) => {
      const { id, port } = c.req.valid("param");
      const { tenant, credential, expires_at } = c.get("caller");
      const of = { session: id, tenant, port: portOf(port), credential };
      unwrap(await callersSession(c, id).hostInUse("ports"));
      const longest = Math.floor(Date.now() / 1000) + LIFE_S;
      const expires = Math.min(longest, Math.floor(Date.parse(expires_at ?? "9999-01-01") / 1000));
      const url = `${ownOrigin(c.env, c.req.raw)}/preview/${await previewToken(c.env, of, expires)}/`;
      const answer = { url, expires_at: new Date(expires * 1000).toISOString() };
      return c.json(answer, 201, { "Cache-Control": "no-store" });
    },
  );

  app.all("/preview/:token", (c) => {
    const { pathname, search } = new URL(c.req.url);
    // Else a page's relative links would lead to other tokens.
    return c.redirect(`${pathname}/${search}`, 308);
  });
  app.all("/preview/:token/*", preview);
}

async function preview(c: Context<AppEnv>): Promise<Response> {
  const token = c.req.param("token")!;
  const origin = c.req.header("Origin") ?? null;
  if (c.req.method === "OPTIONS" && origin === "null") return preflight(c);
  const of = await openPreviewToken(c.env, token);
  const caller = of && (await callerBy(c.env.DB, of.credential));
  if (!caller?.scopes.has("agent") || caller.tenant !== of?.tenant)
    throw new SandbarError("UNAUTHENTICATED", "The preview is over; make a new one");
  c.set("caller", caller);
  return reachPort(c, of.session, of.port, {
    path: MOUNT,
    prefix: `/preview/${token}`,
    toServer: headersForPreviewedServer,
    toClient: (given, port, prefix) => headersForPreview(given, port, prefix, origin),
  });
}

function preflight(c: Context<AppEnv>): Response {
  return c.body(null, 204, {
    ...sharedWith("null"),
    "Access-Control-Allow-Methods": c.req.header("Access-Control-Request-Method") ?? "GET",
    "Access-Control-Allow-Headers": c.req.header("Access-Control-Request-Headers") ?? "",
    "Access-Control-Max-Age": "600",
  });
}

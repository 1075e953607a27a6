/** @module `/langgraph/*`: the way to the agent's Worker, which speaks the LangGraph Platform's REST API. */
import { AGENT_CALL_HEADER, type AgentCall, JSON_BODY_LIMIT_BYTES, SandbarError } from "@sandbar/shared";
import { cors } from "hono/cors";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../app-env.ts";
import { authenticated, authenticateKey, requireScope } from "../auth.ts";
import { bodyIdleMs } from "../env.ts";
import { listed } from "../host-name.ts";
import { bodyText, readBody } from "../json-body.ts";
import type { App } from "../openapi.ts";
import { bytesWhileGood } from "../while-good.ts";

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** LangGraph's clients send their key in a header of their own. */
const known = createMiddleware<AppEnv>(async (c, next) => {
  const key = c.req.header("X-Api-Key");
  if (!key || c.req.header("Authorization")) return authenticated(c, next);
  c.set("caller", await authenticateKey(c, `Bearer ${key}`));
  return next();
});

/** Chats that live elsewhere bring a key; the console's cookie is for its own pages. */
const fromOtherPages = cors({
  origin: (origin, { env }) =>
    listed(env.LANGGRAPH_ALLOWED_ORIGINS).includes(origin.toLowerCase()) ? origin : null,
  allowMethods: METHODS,
  // Where a stream is read on.
  exposeHeaders: ["Content-Location", "Location", "X-Pagination-Next", "X-Pagination-Total", "X-Request-Id"],
  maxAge: 600,
});

const asked = createMiddleware<AppEnv>((c, next) =>
  c.req.header("Origin") ? fromOtherPages(c, next) : next(),
);

export const langgraphDoor = [asked, known, requireScope("agent")] as const;

export function langgraphRoutes(app: App): void {
  app.on(METHODS, "/langgraph/*", async (c) => {
    const { AGENT } = c.env;
    if (!AGENT) throw new SandbarError("NOT_FOUND", "This Sandbar has no agent");
    const bytes = await readBody(c.req.raw, JSON_BODY_LIMIT_BYTES, bodyIdleMs(c.env));
    if (!bytes)
      throw new SandbarError("PAYLOAD_TOO_LARGE", `A JSON body may have ${JSON_BODY_LIMIT_BYTES} bytes here`);
    const { key_id, tenant } = c.get("caller");
    const call: AgentCall = {
      last_event_id: c.req.header("Last-Event-ID") ?? null,
      request_id: c.get("requestId"),
      caller: { key_id, tenant },
    };
    // None of the client's own headers goes with it.
    const headers = { [AGENT_CALL_HEADER]: JSON.stringify(call) };
    const body = bytes.length === 0 ? null : bodyText(bytes);
    const answer = await AGENT.fetch(new Request(c.req.url, { method: c.req.method, headers, body }));
    return c.newResponse(answer.body && bytesWhileGood(c, answer.body), answer);
  });
}

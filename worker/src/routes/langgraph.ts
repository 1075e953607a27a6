/** @module `/langgraph/*`: the way to the agent's Worker, which speaks the LangGraph Platform's REST API. */
import { AGENT_CALL_HEADER, type AgentCall, JSON_BODY_LIMIT_BYTES, SandbarError } from "@sandbar/shared";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../app-env.ts";
import { authenticate, authenticated, requireScope } from "../auth.ts";
import { bodyIdleMs } from "../env.ts";
import { bodyText, readBody } from "../json-body.ts";
import type { App } from "../openapi.ts";

const METHODS = ["GET", "POST", "PATCH", "DELETE"];

/** LangGraph's clients send their key in a header of their own. */
const known = createMiddleware<AppEnv>(async (c, next) => {
  const key = c.req.header("X-Api-Key");
  if (!key || c.req.header("Authorization")) return authenticated(c, next);
  c.set("caller", await authenticate(c.env.DB, `Bearer ${key}`));
  return next();
});

export const langgraphDoor = [known, requireScope("agent")] as const;

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
    return c.newResponse(answer.body, answer);
  });
}

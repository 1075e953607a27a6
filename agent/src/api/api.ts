/** @module The LangGraph Platform's REST API (v1) below `/langgraph`: its routes, and what all of them have in common. */
import { type AgentCall, SandbarError, toProblem } from "@sandbar/shared";
import { Hono } from "hono";
import { assistantRoutes } from "./assistants.ts";
import type { Api, ApiEnv } from "./request.ts";
import { runRoutes } from "./runs.ts";
import { threadRoutes } from "./threads.ts";
import { unsupportedRoutes } from "./unsupported.ts";

export function createApi(): Api {
  const api: Api = new Hono<ApiEnv>().basePath("/langgraph") as Api;
  api.get("/ok", (c) => c.json({ ok: true }));
  api.get("/info", (c) =>
    c.json({ flags: { assistants: true, crons: false, langsmith: false }, version: "1" }),
  );
  unsupportedRoutes(api);
  assistantRoutes(api);
  threadRoutes(api);
  runRoutes(api);
  api.notFound((c) => problem(new SandbarError("NOT_FOUND", "No such path"), c.env.CALL));
  api.onError((error, c) => {
    if (error instanceof SandbarError) return problem(error, c.env.CALL);
    console.error("unexpected", c.req.method, c.req.path, c.env.CALL.request_id, error);
    return problem(
      new SandbarError("INTERNAL", "An unexpected error was logged under this request id"),
      c.env.CALL,
    );
  });
  return api;
}

function problem({ failure }: SandbarError, { request_id }: AgentCall): Response {
  const document = toProblem(failure, request_id);
  const headers = { "Content-Type": "application/problem+json" };
  return new Response(JSON.stringify(document), { status: document.status, headers });
}

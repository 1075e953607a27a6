/** @module One MCP message: a server of its own, whose tools call this Worker's own routes as the caller. */
import { createMcpHandler, type McpHttpHandler } from "@modelcontextprotocol/server";
import { Sandbar } from "@sandbar/sdk";
import { createMcpServer } from "@sandbar/sdk/mcp";
import { JSON_BODY_LIMIT_BYTES, readJson } from "@sandbar/shared";
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { clientAddress } from "../client-address.ts";
import type { App } from "../openapi.ts";
import { inProcessFetch } from "./in-process-fetch.ts";
import { RunningCall } from "./running-calls.ts";

interface Message {
  id?: string | number;
  method?: string;
  params?: { requestId?: string | number };
}

/** That a client has gone shows only when something is written to it. */
const KEEP_ALIVE_MS = 1_000;
const EXECUTIONS = /^\/v1\/sessions\/[^/]+\/executions$/;

export async function serveMcp(app: App, c: Context<AppEnv>): Promise<Response> {
  const text = c.req.method === "POST" ? await c.req.text() : undefined;
  const message = messageOf(text);
  const origin = new URL(c.req.url).origin;
  const inner = { ...c.env, INNER: { address: clientAddress(c.env, c.req.raw) } };
  const route = inProcessFetch(app, origin, inner, c.executionCtx as ExecutionContext);
  const authorization = c.req.header("Authorization") ?? "";
  const interrupt = (execution: string) =>
    route(`${origin}${execution}/interrupt`, { method: "POST", headers: { authorization } });
  // Without it nobody could tell which of a key's clients wants to cancel its third request.
  const client = c.req.header("Mcp-Session-Id");
  const callOf = (id: string | number) => new RunningCall(c.get("caller").key_id, client ?? "", id);

  const begun = async (call: RunningCall, execution: string) => {
    call.started(execution);
    if (call.cancelled) await interrupt(execution);
  };

  if (message?.method === "notifications/cancelled" && client && message.params?.requestId !== undefined) {
    const execution = callOf(message.params.requestId).cancel();
    if (execution) await interrupt(execution);
  }

  const call =
    message?.method === "tools/call" && message.id !== undefined
      ? client
        ? callOf(message.id)
        : new RunningCall(crypto.randomUUID(), "", message.id)
      : null;
  const sandbar = new Sandbar({
    url: origin,
    apiKey: authorization.replace(/^Bearer +/i, ""),
    headers: { "x-request-id": c.get("requestId") },
    fetch: async (input, init) => {
      const response = await route(input, init);
      const execution = response.headers.get("Location");
      if (call && execution && init?.method === "POST" && EXECUTIONS.test(new URL(String(input)).pathname))
        await begun(call, execution);
      return response;
    },
  });
  const handler: McpHttpHandler = createMcpHandler(() => createMcpServer(sandbar), {
    // A stream tells when the client hangs up, which is how the protocol of 2026 cancels.
    responseMode: message?.method === "tools/call" ? "sse" : "auto",
    keepAliveMs: KEEP_ALIVE_MS,
    maxRequestBodySize: JSON_BODY_LIMIT_BYTES,
  });
  const { method, url } = c.req;
  const response = await handler.fetch(new Request(url, { method, headers: c.req.raw.headers, body: text }));
  const headers = new Headers(response.headers);
  headers.set("Cache-Control", "no-store");
  if (message?.method === "initialize" && response.ok) headers.set("Mcp-Session-Id", crypto.randomUUID());
  if (!call || !response.body) return new Response(response.body, { status: response.status, headers });
  const watched = watch(response.body, call, async (hungUp) => {
    const execution = hungUp && !call.cancelled ? call.cancel() : null;
    if (execution) await interrupt(execution);
    if (!hungUp || execution) call.ended();
  });
  // The runtime drops a request whose client has gone, and with it whoever could still interrupt.
  c.executionCtx.waitUntil(watched.over);
  return new Response(watched.body, { status: response.status, headers });
}

/** The first message is enough: batches went with the protocol of 2025-03. */
function messageOf(text: string | undefined): Message | null {
  const value = readJson(text ?? "");
  return typeof value === "object" && !Array.isArray(value) ? (value as Message | null) : null;
}

/** A call that was cancelled gets no answer: its stream only ends. */
function watch(
  source: ReadableStream<Uint8Array>,
  call: RunningCall,
  onEnd: (hungUp: boolean) => Promise<void>,
) {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  let ended = false;
  const end = (hungUp: boolean) => {
    if (ended) return;
    ended = true;
    onEnd(hungUp).then(resolve, resolve);
  };
  const reader = source.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) break;
          if (!call.cancelled) return controller.enqueue(value);
        }
        end(false);
        controller.close();
      } catch (error) {
        end(true);
        controller.error(error);
      }
    },
    async cancel(reason) {
      end(true);
      await reader.cancel(reason).catch(() => {});
    },
  });
  return { body, over };
}

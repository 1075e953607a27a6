/** @module A fake control plane that fails in ways the real one cannot be made to on demand. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Sandbar } from "./client.ts";
import type { ExecutionRecord } from "./execution.ts";

export interface Received {
  method: string;
  path: string;
  headers: IncomingMessage["headers"];
  body: string;
}

type Handler = (request: Received, response: ServerResponse) => void;

export async function fakeServer(handlers: Handler[]) {
  const received: Received[] = [];
  const server = createServer(async (incoming, response) => {
    let body = "";
    for await (const chunk of incoming) body += chunk;
    const request = { method: incoming.method!, path: incoming.url!, headers: incoming.headers, body };
    const handler = handlers[Math.min(received.length, handlers.length - 1)]!;
    received.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = new Sandbar({ url, apiKey: "key", retry: { baseMs: 1, maxMs: 5 } });
  return {
    client,
    received,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function record(
  status: ExecutionRecord["status"],
  fields: Partial<ExecutionRecord> = {},
): ExecutionRecord {
  return {
    id: "exe_1",
    session_id: "ses_1",
    context: "main",
    language: "python",
    status,
    stdout: "",
    stderr: "",
    text: null,
    results: [],
    error: null,
    truncated: {},
    artifacts: [],
    artifacts_skipped: [],
    state: { variables: "kept", files: "kept" },
    created_by: null,
    queued_at: "",
    started_at: null,
    finished_at: null,
    duration_ms: null,
    ...fields,
  };
}

export function json(status: number, value: unknown, headers: Record<string, string> = {}): Handler {
  return (_, response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(value));
  };
}

export const hangUp: Handler = (_, response) => void response.destroy();

/** Sends events; then ends, or breaks the connection, or leaves it open. */
export function events(
  list: [id: number, event: string, data: unknown][],
  then: "end" | "break" | "stay" = "end",
  headers: Record<string, string> = {},
): Handler {
  return (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream", ...headers });
    response.flushHeaders();
    for (const [id, event, data] of list)
      response.write(`id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    if (then === "end") response.end();
    else if (then === "break") setTimeout(() => response.destroy(), 10);
  };
}

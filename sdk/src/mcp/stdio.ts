/** @module MCP over standard input and output. */
import { serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import type { Sandbar, SessionOptions } from "../client.ts";
import { createMcpServer } from "./server.ts";

/** Serves until the client closes standard input. Standard output belongs to the protocol. */
export async function serveStdio(client: Sandbar, defaults: Partial<SessionOptions> = {}): Promise<void> {
  const handle = serve(() => createMcpServer(client, defaults), {
    onerror: (error) => process.stderr.write(`sandbar mcp: ${error.message}\n`),
  });
  await new Promise((resolve) => process.stdin.once("end", resolve).once("close", resolve));
  await handle.close();
}

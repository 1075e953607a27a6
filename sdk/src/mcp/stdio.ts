/** @module MCP over standard input and output. */
import { constants } from "node:os";
import { serveStdio as serve } from "@modelcontextprotocol/server/stdio";
import type { Sandbar, SessionOptions } from "../client.ts";
import { createMcpServer } from "./server.ts";

/** Serves until the client closes standard input or signals; what runs then is interrupted. Standard output belongs to the protocol. */
export async function serveStdio(client: Sandbar, defaults: Partial<SessionOptions> = {}): Promise<void> {
  const handle = serve(() => createMcpServer(client, defaults), {
    onerror: (error) => process.stderr.write(`sandbar mcp: ${error.message}\n`),
  });
  await new Promise<void>((resolve) => {
    process.stdin.once("end", resolve).once("close", resolve);
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const)
      process.once(signal, () => {
        process.exitCode = 128 + constants.signals[signal];
        resolve();
      });
  });
  await handle.close();
  // The process ends by itself when the control plane has been told.
  process.stdin.destroy();
}

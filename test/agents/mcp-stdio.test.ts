import { join } from "node:path";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { describeMcp } from "../fixtures/mcp-suite.ts";
import { REPO } from "../fixtures/stack.ts";

describeMcp(
  "sandbar mcp over stdio",
  (stack, key) =>
    new StdioClientTransport({
      command: process.execPath,
      args: [join(REPO, "cli/src/main.ts"), "mcp"],
      env: {
        ...(process.env as Record<string, string>),
        SANDBAR_URL: stack.url,
        SANDBAR_API_KEY: key,
      },
    }),
);

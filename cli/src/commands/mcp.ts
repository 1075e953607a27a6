/** @module `sandbar mcp`: the MCP server over standard input and output. */
import type { Command } from "commander";
import { cli } from "../invocation/global-options.ts";

export function addMcp(program: Command): void {
  program
    .command("mcp")
    .description("serve MCP over stdio, for Claude Desktop, Cursor and others")
    .action(async (_, command: Command) => {
      const { serveStdio } = await import("@sandbar/sdk/mcp/stdio");
      const { client, config } = cli(command);
      if (!config.apiKey)
        process.stderr.write("sandbar: no API key found, every call will be refused; set SANDBAR_API_KEY\n");
      await serveStdio(client, config.session);
    });
}

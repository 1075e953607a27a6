/** @module The MCP server over the client, for any transport. */
export { createMcpServer } from "./server.ts";

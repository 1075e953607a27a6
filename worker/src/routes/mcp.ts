/** @module `/mcp`: the Model Context Protocol over streamable HTTP, and the metadata of RFC 9728 that leads there. */
import { SandbarError } from "@sandbar/shared";
import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../app-env.ts";
import { authenticateKey } from "../auth.ts";
import { admitted } from "../mcp/gate.ts";
import type { App } from "../openapi.ts";
import { problem } from "../problem.ts";

const METADATA = "/.well-known/oauth-protected-resource";
const REQUEST_HEADERS =
  "Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id";

export function mcpRoutes(app: App): void {
  app.on(["POST", "GET", "DELETE"], "/mcp", async (c) => {
    // Most isolates never serve MCP; those need not evaluate its package.
    const { serveMcp } = await import("../mcp/serve.ts");
    const response = await serveMcp(app, c);
    return c.newResponse(response.body, response);
  });

  for (const path of [METADATA, `${METADATA}/mcp`])
    app.get(path, (c) => {
      const { origin } = new URL(c.req.url);
      const document = {
        resource: `${origin}/mcp`,
        resource_name: "Sandbar",
        resource_documentation: `${origin}/docs`,
        bearer_methods_supported: ["header"],
        scopes_supported: ["agent"],
      };
      return c.json(document, 200, { "Access-Control-Allow-Origin": "*" });
    });
}

const gate: MiddlewareHandler<AppEnv> = async (c, next) => {
  const origin = admitted(c.req.raw, c.env);
  if (origin !== null) {
    c.header("Access-Control-Allow-Origin", origin);
    c.header("Access-Control-Expose-Headers", "Mcp-Session-Id, WWW-Authenticate, X-Request-Id");
    c.header("Vary", "Origin");
  }
  if (c.req.method !== "OPTIONS") return next();
  c.header("Access-Control-Allow-Methods", "POST, GET, DELETE");
  c.header("Access-Control-Allow-Headers", REQUEST_HEADERS);
  c.header("Access-Control-Max-Age", "600");
  return c.body(null, 204);
};

const authorized: MiddlewareHandler<AppEnv> = async (c, next) => {
  try {
    c.set("caller", await authenticateKey(c, c.req.header("Authorization")));
  } catch (error) {
    if (!(error instanceof SandbarError) || error.code !== "UNAUTHENTICATED") throw error;
    return problem(c, error.failure, { "WWW-Authenticate": challenge(c) });
  }
  await next();
};

/** Before anything is read. */
export const mcpDoor = [gate, authorized] as const;

function challenge(c: Context<AppEnv>): string {
  const { origin } = new URL(c.req.url);
  const refused = c.req.header("Authorization") ? ', error="invalid_token"' : "";
  return `Bearer resource_metadata="${origin}${METADATA}/mcp", scope="agent"${refused}`;
}

/** @module `/openapi.json`, `/docs` and the page of error codes that problems point to. */
import { ERRORS } from "@sandbar/shared";
import { html, raw } from "hono/html";
import { ownOrigin } from "../console/own-origin.ts";
import { PAGE_HEADERS } from "../console/page.ts";
import { describeFields } from "../described-fields.ts";
import type { App } from "../openapi.ts";

const DOCS_HEADERS = {
  ...PAGE_HEADERS,
  "Content-Security-Policy":
    "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
    "font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};

const API = {
  openapi: "3.1.0",
  info: {
    title: "Sandbar",
    version: "1",
    description:
      "Code execution for AI agents, on your own machines. Make a session, run code in it, take files out of it. " +
      "Send `Authorization: Bearer <api key>`. Every refusal is a Problem with a `code`.",
    license: { name: "MIT" },
  },
  // The order in which a reader meets them.
  tags: [
    { name: "sessions", description: "A sandbox with a life of its own: get or create, look, end." },
    { name: "tokens", description: "One session for somebody else, for a while." },
    { name: "executions", description: "Code that runs in a session's kernel, and what came of it." },
    { name: "contexts", description: "Kernels of a session, their variables and completions." },
    { name: "files", description: "Files and folders of a session." },
    {
      name: "snapshots",
      description: "Files and variables of a session, kept outside of it; other sessions begin with them.",
    },
    { name: "artifacts", description: "Files that sessions left behind; they outlive them." },
    { name: "datasets", description: "Data that code reads, staged by id." },
    { name: "processes", description: "Long-running commands, terminals, ports and previews." },
    { name: "volumes", description: "Folders that outlive sessions." },
    { name: "hosts", description: "Machines that run sessions, for operators." },
    { name: "keys", description: "API keys, for admins." },
    { name: "policies", description: "What tenants may do and how much they may have." },
    { name: "secrets", description: "Headers for sessions' network that code never sees." },
    { name: "operations", description: "Health, metrics, events, usage and the audit log." },
    { name: "settings", description: "The agent's model and manners." },
    { name: "console", description: "Who calls, and signing a browser in." },
    { name: "daemon", description: "What hosts ask; not for clients." },
  ],
};

/** Nothing that leads to the vendor's services, or that sends what is typed here anywhere else. */
const REFERENCE = {
  url: "/openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: "never",
  hideClientButton: true,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
};

export function docsRoutes(app: App): void {
  let described: ReturnType<App["getOpenAPI31Document"]> | undefined;
  app.get("/openapi.json", (c) => {
    described ??= describeFields(app.getOpenAPI31Document(API) as never) as NonNullable<typeof described>;
    return c.json({ ...described, servers: [{ url: ownOrigin(c.env, c.req.raw) }] });
  });

  app.get("/docs", (c) =>
    c.html(
      html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sandbar API</title></head>
<body><div id="app"></div><script src="/docs/scalar.js"></script><script src="/docs/start.js"></script></body>
</html>`,
      200,
      DOCS_HEADERS,
    ),
  );

  app.get("/docs/start.js", (c) =>
    c.body(`Scalar.createApiReference("#app", ${JSON.stringify(REFERENCE)});`, 200, {
      "Content-Type": "text/javascript; charset=utf-8",
    }),
  );

  app.get("/docs/scalar.js", (c) => c.env.ASSETS.fetch(new URL("/docs/scalar.js", c.req.url)));

  app.get("/docs/errors", (c) => {
    const rows = Object.entries(ERRORS).map(
      ([code, { status, title, retryable, hint }]) =>
        html`<tr id="${code}"><td><code>${code}</code></td><td>${status}</td><td>${title}</td><td>${retryable ? "yes" : "no"}</td><td>${hint}</td></tr>`,
    );
    return c.html(
      html`<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Sandbar error codes</title></head>
<body><h1>Error codes</h1><table border="1" cellpadding="4">
<tr><th>code</th><th>status</th><th>meaning</th><th>may succeed later</th><th>what to do</th></tr>
${raw(rows.join("\n"))}
</table></body>
</html>`,
      200,
      DOCS_HEADERS,
    );
  });
}

/** @module `/openapi.json`, `/docs` and the page of error codes that problems point to. */
import { ERRORS } from "@sandbar/shared";
import { html, raw } from "hono/html";
import { PAGE_HEADERS } from "../console/page.ts";
import type { App } from "../openapi.ts";

const DOCS_HEADERS = {
  ...PAGE_HEADERS,
  "Content-Security-Policy":
    "default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
    "font-src 'self' data:; worker-src 'self' blob:; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
};

export function docsRoutes(app: App): void {
  app.doc31("/openapi.json", {
    openapi: "3.1.0",
    info: {
      title: "Sandbar",
      version: "1",
      description: "Code execution for AI agents, on your own machines.",
      license: { name: "MIT" },
    },
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
    c.body(
      'Scalar.createApiReference("#app", { url: "/openapi.json", withDefaultFonts: false, telemetry: false });',
      200,
      { "Content-Type": "text/javascript; charset=utf-8" },
    ),
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

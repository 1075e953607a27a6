/** @module `/v1/keys`: API keys. */
import { createRoute, z } from "@hono/zod-openapi";
import { CreateApiKeySchema, SandbarError } from "@sandbar/shared";
import { forgetKeys } from "../auth.ts";
import { createKey, deleteKey, listKeys } from "../db/keys.ts";
import { ApiKeyBody, type App, body, json, listOf, PageQuery, page, refused, secured } from "../openapi.ts";

export function keyRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/keys",
      tags: ["keys"],
      summary: "Make an API key",
      security: secured,
      request: { body: body(CreateApiKeySchema) },
      responses: {
        201: json(ApiKeyBody.extend({ secret: z.string() }), "The key; the secret is shown only now"),
        ...refused,
      },
    }),
    async (c) => {
      const key = await createKey(c.env.DB, c.req.valid("json"));
      const { id, name, tenant, scopes } = key;
      c.set("audit", { target: id, detail: `${name}, tenant ${tenant}, ${scopes.join(" and ")}` });
      return c.json(key, 201, { "Cache-Control": "no-store" });
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/keys",
      tags: ["keys"],
      summary: "List API keys, newest first",
      security: secured,
      request: { query: PageQuery },
      responses: { 200: json(listOf(ApiKeyBody), "A page of keys, without secrets"), ...refused },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid("query");
      return c.json(page(await listKeys(c.env.DB, cursor ?? null, limit + 1), limit), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/keys/{id}",
      tags: ["keys"],
      summary: "Revoke an API key",
      description:
        "It stops working at once on one machine, elsewhere within seconds of its next use. Streams, requests that wait, transfers, terminals and WebSockets that it has open end within 5 seconds, and tokens that it has made with it; an expiry does the same.",
      security: secured,
      request: { params: z.object({ id: z.string().max(64) }) },
      responses: { 204: { description: "It is revoked" }, ...refused },
    }),
    async (c) => {
      // A mistyped id must not look like a revocation.
      if (!(await deleteKey(c.env.DB, c.req.valid("param").id)))
        throw new SandbarError("NOT_FOUND", "No such key");
      forgetKeys();
      return c.body(null, 204);
    },
  );
}

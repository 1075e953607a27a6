/** @module `/v1/secrets`: what sessions' network may refer to by name. Values go in and come out for hosts alone. */
import { createRoute, z } from "@hono/zod-openapi";
import { PutSecretSchema, SandbarError, SECRET_LIMIT, SecretNameSchema, SecretSchema } from "@sandbar/shared";
import { unwrap } from "../answer.ts";
import { deleteSecret, findSecret, listSecrets, saveSecret } from "../db/secrets.ts";
import { secretValues } from "../network/secret-values.ts";
import { type App, body, json, refused, secured } from "../openapi.ts";
import { sessionObject } from "../rpc.ts";
import { seal } from "../sealed.ts";

const SecretParams = z.object({ name: SecretNameSchema });

export function secretRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/secrets",
      tags: ["secrets"],
      summary: "List stored secrets",
      description: "Names and hosts, never values. A tenant has 100 at most.",
      security: secured,
      responses: { 200: json(z.object({ data: z.array(SecretSchema) }), "All of them, by name"), ...refused },
    }),
    async (c) => c.json({ data: await listSecrets(c.env.DB, c.get("caller").tenant) }, 200),
  );

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/secrets/{name}",
      tags: ["secrets"],
      summary: "Store a secret, or replace it",
      description:
        "For `network.secrets` of sessions. `hosts` says where it may be sent. Sessions that run use a new value within 30 seconds.",
      security: secured,
      request: { params: SecretParams, body: body(PutSecretSchema) },
      responses: { 200: json(SecretSchema, "The secret, without its value"), ...refused },
    }),
    async (c) => {
      const { tenant } = c.get("caller");
      const { name } = c.req.valid("param");
      const { value, hosts } = c.req.valid("json");
      const wanted = {
        name,
        hosts: hosts.map((host) => host.toLowerCase()),
        sealed: await seal(c.env, value),
      };
      if (!(await saveSecret(c.env.DB, tenant, wanted)))
        throw new SandbarError("QUOTA_EXCEEDED", `The tenant has its ${SECRET_LIMIT} secrets`);
      c.set("audit", { target: name });
      const saved = await findSecret(c.env.DB, tenant, name);
      if (!saved) throw new SandbarError("NOT_FOUND", "Somebody has removed it at once");
      return c.json(saved, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/secrets/{name}",
      tags: ["secrets"],
      summary: "Remove a stored secret",
      description: "Sessions that refer to it cannot reach its host from then on, within 30 seconds.",
      security: secured,
      request: { params: SecretParams },
      responses: { 204: { description: "It is gone" }, ...refused },
    }),
    async (c) => {
      const { name } = c.req.valid("param");
      if (!(await deleteSecret(c.env.DB, c.get("caller").tenant, name)))
        throw new SandbarError("NOT_FOUND", "No such secret");
      c.set("audit", { target: name });
      return c.body(null, 204);
    },
  );

  // A daemon asks, for one session that runs on its host.
  app.post("/agent/secrets", async (c) => {
    const { tenant, session } = c.get("host");
    const held = unwrap(await sessionObject(c.env, tenant, session).networkSecrets());
    return c.json(await secretValues(c.env, tenant, held));
  });
}

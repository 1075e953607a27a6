/** @module `/v1/policies`: what tenants may do and how much they may have; `/v1/policy`: the caller's own. */
import { createRoute, z } from "@hono/zod-openapi";
import { PolicySchema, PolicyTenantSchema, SandbarError } from "@sandbar/shared";
import { deletePolicy, findPolicy, listPolicies, savePolicy } from "../db/policies.ts";
import {
  type App,
  body,
  EffectivePolicyBody,
  json,
  listOf,
  PageQuery,
  refused,
  secured,
  TenantPolicyBody,
} from "../openapi.ts";
import { forgetRates } from "../rates/rate-limits.ts";

const PolicyParams = z.object({ tenant: PolicyTenantSchema });
const PoliciesQuery = PageQuery.extend({ cursor: PolicyTenantSchema.optional() });

export function policyRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/policy",
      tags: ["policies"],
      summary: "What the caller's tenant may do, and how much it may have",
      security: secured,
      responses: { 200: json(EffectivePolicyBody, "With every default filled in"), ...refused },
    }),
    async (c) => c.json((await findPolicy(c.env.DB, c.get("caller").tenant)).effective, 200),
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/policies",
      tags: ["policies"],
      summary: "List the policies that were set",
      security: secured,
      request: { query: PoliciesQuery },
      responses: { 200: json(listOf(TenantPolicyBody), "A page, `*` first"), ...refused },
    }),
    async (c) => {
      const { limit, cursor } = c.req.valid("query");
      const rows = await listPolicies(c.env.DB, cursor ?? "", limit + 1);
      const data = rows.slice(0, limit);
      return c.json({ data, next_cursor: rows.length > limit ? data.at(-1)!.tenant : null }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/policies/{tenant}",
      tags: ["policies"],
      summary: "Get a tenant's policy",
      description: "Every tenant has one: where nothing was set, what holds for all.",
      security: secured,
      request: { params: PolicyParams },
      responses: { 200: json(TenantPolicyBody, "What was set, and what holds"), ...refused },
    }),
    async (c) => c.json(await findPolicy(c.env.DB, c.req.valid("param").tenant), 200),
  );

  app.openapi(
    createRoute({
      method: "put",
      path: "/v1/policies/{tenant}",
      tags: ["policies"],
      summary: "Set a tenant's policy",
      description:
        "Instead of the one before. `*` stands for all tenants; what a tenant's own leaves out is as there, and after that as the defaults. It counts for sessions that are made from now on.",
      security: secured,
      request: { params: PolicyParams, body: body(PolicySchema) },
      responses: { 200: json(TenantPolicyBody, "What was set, and what holds"), ...refused },
    }),
    async (c) => {
      const { tenant } = c.req.valid("param");
      const policy = c.req.valid("json");
      await savePolicy(c.env.DB, tenant, policy);
      forgetRates();
      c.set("audit", { target: tenant, detail: JSON.stringify(policy) });
      return c.json(await findPolicy(c.env.DB, tenant), 200);
    },
  );

  app.openapi(
    createRoute({
      method: "delete",
      path: "/v1/policies/{tenant}",
      tags: ["policies"],
      summary: "Take a tenant's policy back",
      security: secured,
      request: { params: PolicyParams },
      responses: { 204: { description: "What holds for all holds for it" }, ...refused },
    }),
    async (c) => {
      if (!(await deletePolicy(c.env.DB, c.req.valid("param").tenant)))
        throw new SandbarError("NOT_FOUND", "The tenant has no policy of its own");
      forgetRates();
      return c.body(null, 204);
    },
  );
}

/** @module `/healthz`, `/metrics`, `/v1/usage`. */
import { createRoute, z } from "@hono/zod-openapi";
import { SandbarError, TenantSchema } from "@sandbar/shared";
import { artifactLimits, NO_LIMIT } from "../artifacts/settings.ts";
import { storedBy } from "../db/artifacts.ts";
import { usageOf } from "../db/sessions.ts";
import { maxSessionsPerTenant } from "../env.ts";
import { type App, json, refused, secured } from "../openapi.ts";
import { fleetObject } from "../rpc.ts";

const UsageSchema = z.object({
  tenant: z.string(),
  sessions: z.number().int(),
  executions: z.number().int(),
  seconds: z.number(),
  bytes: z.number().int(),
  /** Of the sessions, those that live. */
  live_sessions: z.number().int(),
  artifacts: z.object({ count: z.number().int(), bytes: z.number().int() }),
  /** What the tenant may have at once; null: no limit. */
  limits: z.object({
    live_sessions: z.number().int().nullable(),
    artifact_count: z.number().int().nullable(),
    artifact_bytes: z.number().int().nullable(),
  }),
});

export function operationRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/healthz",
      tags: ["operations"],
      summary: "Whether the control plane answers",
      responses: { 200: json(z.object({ status: z.literal("ok") }), "It does") },
    }),
    (c) => c.json({ status: "ok" as const }, 200),
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/usage",
      tags: ["operations"],
      summary: "What a tenant has used",
      description:
        "The caller's tenant, or with the scope operator any: `?tenant=`. Counters lag by up to a minute.",
      security: secured,
      request: { query: z.object({ tenant: TenantSchema.optional() }) },
      responses: { 200: json(UsageSchema, "Totals"), ...refused },
    }),
    async (c) => {
      const { tenant } = c.req.valid("query");
      const caller = c.get("caller");
      if (tenant !== undefined && tenant !== caller.tenant && !caller.scopes.has("operator"))
        throw new SandbarError("FORBIDDEN", "Another tenant's usage needs a key with the scope operator");
      const whose = tenant ?? caller.tenant;
      const [usage, artifacts] = await Promise.all([usageOf(c.env.DB, whose), storedBy(c.env.DB, whose)]);
      const { tenantCount, tenantBytes } = artifactLimits(c.env);
      const limits = {
        live_sessions: maxSessionsPerTenant(c.env) || null,
        artifact_count: limitOrNull(tenantCount),
        artifact_bytes: limitOrNull(tenantBytes),
      };
      return c.json({ ...usage, artifacts, limits }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/metrics",
      tags: ["operations"],
      summary: "Prometheus metrics",
      security: secured,
      responses: {
        200: { content: { "text/plain": { schema: z.string() } }, description: "Metrics" },
        ...refused,
      },
    }),
    async (c) => {
      const fleet = fleetObject(c.env);
      const [hosts, tenants] = await Promise.all([fleet.hosts(), fleet.reservationsByTenant()]);
      const lines = [
        ...metric(
          "sandbar_hosts",
          "Hosts by status",
          [...new Map(Object.entries(Object.groupBy(hosts, ({ status }) => status))).entries()].map(
            ([status, of]) => [{ status }, of?.length ?? 0],
          ),
        ),
        ...metric(
          "sandbar_host_up",
          "1 when the host is online",
          hosts.map(({ id, name, status }) => [{ id, name }, status === "online" ? 1 : 0]),
        ),
        ...metric(
          "sandbar_host_sessions",
          "Sessions on a host",
          hosts.map(({ id, sessions }) => [{ id }, sessions]),
        ),
        ...metric(
          "sandbar_tenant_sessions",
          "Live sessions of a tenant",
          tenants.map(({ tenant, sessions }) => [{ tenant }, sessions]),
        ),
      ];
      return c.text(`${lines.join("\n")}\n`, 200, {
        "Content-Type": "text/plain; version=0.0.4; charset=utf-8",
      });
    },
  );
}

const limitOrNull = (limit: number) => (limit === NO_LIMIT ? null : limit);

function metric(
  name: string,
  help: string,
  samples: [labels: Record<string, string>, value: number][],
): string[] {
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} gauge`,
    ...samples.map(([labels, value]) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}=${JSON.stringify(text)}`);
      return `${name}{${pairs.join(",")}} ${value}`;
    }),
  ];
}

/** @module `/healthz`, `/metrics`. */
import { createRoute, z } from "@hono/zod-openapi";
import { type App, json, refused, secured } from "../openapi.ts";
import { fleetObject } from "../rpc.ts";

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

/** @module `/v1/audit`: who did what. It can be read, and nothing else. */
import { createRoute, z } from "@hono/zod-openapi";
import { SandbarError, TenantSchema } from "@sandbar/shared";
import { listAudit } from "../db/audit.ts";
import { type App, AuditEntryBody, json, listOf, PageQuery, page, refused, secured } from "../openapi.ts";

const time = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text).toISOString())
  .optional();
const AuditQuery = PageQuery.extend({
  tenant: TenantSchema.optional(),
  action: z.string().max(128).optional(),
  target: z.string().max(255).optional(),
  by: z.string().max(64).optional(),
  address: z.string().max(64).optional(),
  result: z.string().max(64).optional(),
  since: time,
  until: time,
});

export function auditRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/audit",
      tags: ["operations"],
      summary: "Who did what, newest first",
      description:
        "Of the caller's tenant; with the scope operator of all, or of one with `tenant`. `action` is a whole action or the " +
        "beginning of some with a point at its end (`host.`), `by` a key or token, `result` is `ok`, `refused` or a code. " +
        "Lines appear within seconds.",
      security: secured,
      request: { query: AuditQuery },
      responses: { 200: json(listOf(AuditEntryBody), "A page of lines"), ...refused },
    }),
    async (c) => {
      const { limit, cursor, tenant, ...filter } = c.req.valid("query");
      const caller = c.get("caller");
      const all = caller.scopes.has("operator");
      if (!all && tenant !== undefined && tenant !== caller.tenant)
        throw new SandbarError("FORBIDDEN", "Another tenant's audit log needs a key with the scope operator");
      const whose = { tenant: all ? tenant : caller.tenant };
      const rows = await listAudit(c.env.DB, { ...filter, ...whose }, cursor ?? null, limit + 1);
      return c.json(page(rows, limit), 200);
    },
  );
}

/** @module `/v1/usage`: what a tenant has used, in total and over time. */
import { createRoute, z } from "@hono/zod-openapi";
import {
  SandbarError,
  SERIES_POINT_LIMIT,
  SERIES_STEPS,
  TenantSchema,
  UsageSeriesSchema,
} from "@sandbar/shared";
import { artifactLimits, NO_LIMIT } from "../artifacts/settings.ts";
import type { Caller } from "../auth.ts";
import { storedBy } from "../db/artifacts.ts";
import { findPolicy } from "../db/policies.ts";
import { usageOf } from "../db/sessions.ts";
import { heldVolumes } from "../db/volumes.ts";
import { maxSessionsPerTenant, tenantRequestsPerMinute } from "../env.ts";
import { type App, json, refused, secured } from "../openapi.ts";
import { fleetObject, tenantObject } from "../rpc.ts";
import type { SeriesQuery } from "../tenant/usage-buckets.ts";

const UsageSchema = z.object({
  tenant: z.string(),
  sessions: z.number().int(),
  executions: z.number().int(),
  seconds: z.number(),
  bytes: z.number().int(),
  /** Of the sessions, those that live. */
  live_sessions: z.number().int(),
  artifacts: z.object({ count: z.number().int(), bytes: z.number().int() }),
  /** What they may hold together, whatever is in them. */
  volumes: z.object({ count: z.number().int(), size_mb: z.number().int() }),
  /** Bytes over the network by name since midnight of UTC, both ways. */
  egress: z.object({ bytes_today: z.number().int() }),
  /** What its sessions may use together. */
  reserved: z.object({ memory_mb: z.number().int(), cpus: z.number() }),
  /** What the tenant may have at once; null: no limit. */
  limits: z.object({
    live_sessions: z.number().int().nullable(),
    memory_mb: z.number().int().nullable(),
    cpus: z.number().nullable(),
    /** Of one host, while there are other tenants. */
    host_percent: z.number().int(),
    volumes: z.number().int().nullable(),
    volume_mb: z.number().int().nullable(),
    requests_per_minute: z.number().int().nullable(),
    executions_per_minute: z.number().int().nullable(),
    egress_mb_per_day: z.number().int().nullable(),
    artifact_count: z.number().int().nullable(),
    artifact_bytes: z.number().int().nullable(),
  }),
});

const time = z.iso.datetime({ offset: true }).optional();
const SeriesParams = z.object({
  tenant: TenantSchema.optional(),
  from: time,
  to: time,
  step: z.enum(SERIES_STEPS.map(String) as [`${(typeof SERIES_STEPS)[number]}`]).optional(),
});

export function usageRoutes(app: App): void {
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
      const whose = tenantOf(c.get("caller"), c.req.valid("query").tenant);
      const [usage, artifacts, volumes, policy, holdings, bytes_today] = await Promise.all([
        usageOf(c.env.DB, whose),
        storedBy(c.env.DB, whose),
        heldVolumes(c.env.DB, whose),
        findPolicy(c.env.DB, whose),
        fleetObject(c.env).holdings(whose),
        tenantObject(c.env, whose).egressToday(),
      ]);
      const { sessions, requests_per_minute, ...shares } = policy.effective.shares;
      const { tenantCount, tenantBytes } = artifactLimits(c.env);
      const limits = {
        live_sessions: sessions ?? (maxSessionsPerTenant(c.env) || null),
        ...shares,
        requests_per_minute: requests_per_minute ?? (tenantRequestsPerMinute(c.env) || null),
        artifact_count: limitOrNull(tenantCount),
        artifact_bytes: limitOrNull(tenantBytes),
      };
      const reserved = { memory_mb: holdings.memory_mb, cpus: holdings.cpus };
      return c.json({ ...usage, artifacts, volumes, egress: { bytes_today }, reserved, limits }, 200);
    },
  );

  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/usage/series",
      tags: ["operations"],
      summary: "What a tenant has used, over time",
      description:
        "Steps of 60 seconds for 48 hours, of 3600 and 86400 for 90 days; without times the last hour, without a step the finest that fits. The caller's tenant, or with the scope operator any. A step begins at a whole minute, hour or day of UTC.",
      security: secured,
      request: { query: SeriesParams },
      responses: { 200: json(UsageSeriesSchema, "One point for each step"), ...refused },
    }),
    async (c) => {
      const { tenant, ...given } = c.req.valid("query");
      const whose = tenantOf(c.get("caller"), tenant);
      const query = seriesQuery(given, Date.now());
      const data = await tenantObject(c.env, whose).series(query);
      return c.json({ tenant: whose, step_s: query.step_s, data }, 200);
    },
  );
}

const limitOrNull = (limit: number) => (limit === NO_LIMIT ? null : limit);

function tenantOf(caller: Caller, tenant: string | undefined): string {
  if (tenant !== undefined && tenant !== caller.tenant && !caller.scopes.has("operator"))
    throw new SandbarError("FORBIDDEN", "Another tenant's usage needs a key with the scope operator");
  return tenant ?? caller.tenant;
}

/** How far back a step looks when nobody says. */
const SPAN_MS = { 60: 3_600_000, 3600: 24 * 3_600_000, 86400: 30 * 24 * 3_600_000 } as const;

export function seriesQuery(given: { from?: string; to?: string; step?: string }, now: number): SeriesQuery {
  const wanted = given.step === undefined ? null : (Number(given.step) as SeriesQuery["step_s"]);
  // What is to come has no points.
  const to = Math.min(given.to === undefined ? now : Date.parse(given.to), now);
  const from = given.from === undefined ? to - SPAN_MS[wanted ?? 60] : Date.parse(given.from);
  if (from >= to) throw invalid("from", "must be earlier than to, and in the past");
  const points = (step: number) => Math.ceil((to - from) / 1000 / step) + 1;
  const step_s = wanted ?? SERIES_STEPS.find((step) => points(step) <= SERIES_POINT_LIMIT) ?? 86_400;
  if (points(step_s) > SERIES_POINT_LIMIT)
    throw invalid("step", `would be more than ${SERIES_POINT_LIMIT} points; take a longer step or less time`);
  return { from, to, step_s };
}

function invalid(path: string, message: string): SandbarError {
  return new SandbarError("VALIDATION_FAILED", `${path} ${message}`, { errors: [{ path, message }] });
}

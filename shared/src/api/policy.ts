/** @module What a tenant may do and how much it may have, as operators say. */
import { z } from "zod";
import { TTL_MAX_S } from "../limits.ts";
import { TenantSchema } from "./api-key.ts";
import type { Capability } from "./engine.ts";
import { EngineSchema, IsolationSchema } from "./engine.ts";
import { LimitsSchema } from "./session.ts";

/** What sessions may ask for, each of it allowed or not. */
export const POLICED = [
  "egress",
  "bind",
  "volumes",
  "dependencies",
  "images",
  "local_datasets",
] as const satisfies readonly Capability[];
export type Policed = (typeof POLICED)[number];

const FolderSchema = z
  .string()
  .min(2)
  .max(1_024)
  .regex(/^(\/(?!\.{1,2}(\/|$))[^/\0]+)+$/, "must be an absolute path without . and ..");

const AllowSchema = z.strictObject({
  egress: z.boolean(),
  bind: z.boolean(),
  volumes: z.boolean(),
  dependencies: z.boolean(),
  images: z.boolean(),
  local_datasets: z.boolean(),
  /** From folders of the host: all that SANDBAR_IMPORT_DIRS names there, none, or only what lies below these. */
  imports: z.union([z.boolean(), z.array(FolderSchema).min(1).max(32)]),
});

/** Of one session. One that asks for nothing gets no more than this either. */
const MaximaSchema = LimitsSchema.extend({
  idle_ttl_s: z.number().int().min(1).max(TTL_MAX_S),
  max_lifetime_s: z.number().int().min(1).max(TTL_MAX_S),
}).strict();

const count = z.number().int().min(0).max(1_000_000_000).nullable();

/** Of the whole tenant at once; null: no limit. */
const SharesSchema = z.strictObject({
  sessions: count,
  memory_mb: count,
  cpus: z.number().min(0).max(1_000_000).nullable(),
  /** Of the sessions and the memory of one host, while there are other tenants. */
  host_percent: z.number().int().min(1).max(100),
  volumes: count,
  /** What they may hold together. */
  volume_mb: count,
  requests_per_minute: count,
  executions_per_minute: count,
  /** Over the network by name, both ways, in a day of UTC. */
  egress_mb_per_day: count,
});

export const PolicySchema = z.strictObject({
  allow: AllowSchema.partial().optional(),
  engines: z.array(EngineSchema).min(1).max(EngineSchema.options.length).optional(),
  /** Sessions are containers with this wall, or are not. */
  isolation: IsolationSchema.nullable().optional(),
  max: MaximaSchema.partial().optional(),
  shares: SharesSchema.partial().optional(),
});
export type Policy = z.infer<typeof PolicySchema>;

export const EffectivePolicySchema = z.object({
  allow: AllowSchema,
  engines: z.array(EngineSchema),
  isolation: IsolationSchema.nullable(),
  max: MaximaSchema.partial(),
  shares: SharesSchema,
});
export type EffectivePolicy = z.infer<typeof EffectivePolicySchema>;

/** Stands for all tenants, where their own says nothing else. */
export const ANY_TENANT = "*";
export const PolicyTenantSchema = z.union([z.literal(ANY_TENANT), TenantSchema]);

export const TenantPolicySchema = z.object({
  tenant: z.string(),
  /** What was set for this tenant itself. */
  policy: PolicySchema,
  /** With what holds for all tenants, and the defaults. */
  effective: EffectivePolicySchema,
  updated_at: z.string().nullable(),
});
export type TenantPolicy = z.infer<typeof TenantPolicySchema>;

/** @module The Session resource and the request that makes one. */
import { z } from "zod";
import { FailureSchema } from "../errors.ts";
import { idSchema } from "../ids.ts";
import { ENV_LIMIT_ENTRIES, ENV_VALUE_LIMIT, LABEL_LIMIT, TIMEOUT_MAX_S, TTL_MAX_S } from "../limits.ts";
import { wellFormed } from "../text.ts";
import { CapabilitySchema, EngineChoiceSchema, EngineSchema } from "./engine.ts";
import { NetworkModeSchema, NetworkSchema, SessionRulesSchema, ShownSecretSchema } from "./network.ts";
import { VariableReportSchema } from "./snapshot-report.ts";
import { VolumeMountSchema, VolumeMountsSchema } from "./volume.ts";

export const LanguageSchema = z.enum(["python", "node", "r", "bash"]);
export type Language = z.infer<typeof LanguageSchema>;

export const StorageSchema = z.enum(["TMPFS", "BIND"]);
export const DatasetAccessSchema = z.enum(["NONE", "LOCAL_RO", "API"]);

export const LimitsSchema = z.object({
  memory_mb: z.number().int().min(64).max(1_048_576),
  cpus: z.number().min(0.05).max(256),
  pids: z.number().int().min(16).max(32_768),
  tmpfs_mb: z.number().int().min(1).max(524_288),
  timeout_s: z.number().min(0.1).max(TIMEOUT_MAX_S),
});
export type Limits = z.infer<typeof LimitsSchema>;

export const EnvSchema = z
  .record(
    z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "must be a name of letters, digits and _"),
    wellFormed(z.string().max(ENV_VALUE_LIMIT)),
  )
  .refine((env) => Object.keys(env).length <= ENV_LIMIT_ENTRIES, `at most ${ENV_LIMIT_ENTRIES} variables`);

export const LabelsSchema = z
  .record(z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_./-]{0,62}$/), wellFormed(z.string().max(256)))
  .refine((labels) => Object.keys(labels).length <= LABEL_LIMIT, `at most ${LABEL_LIMIT} labels`);

export const SessionKeySchema = wellFormed(z.string().min(1).max(256));

export const DependenciesSchema = z
  .record(
    z.string().regex(/^[@A-Za-z0-9][A-Za-z0-9._/[\]-]{0,213}$/, "must be a package name"),
    z
      .string()
      .max(64)
      .regex(/^[A-Za-z0-9.*^~<>=!, +_-]*$/, "must be a version or empty"),
  )
  .refine((deps) => Object.keys(deps).length <= 200, "at most 200 dependencies");

export const CreateSessionSchema = z.strictObject({
  key: SessionKeySchema.optional(),
  /** Where its files and variables come from, and all that is not said otherwise. */
  snapshot: idSchema("snp").optional(),
  runtime: LanguageSchema.optional(),
  engine: EngineChoiceSchema.optional(),
  image: z
    .string()
    .min(1)
    .max(255)
    .regex(/^[a-z0-9][A-Za-z0-9._/:@-]*$/, "must be an image reference")
    .optional(),
  storage: StorageSchema.optional(),
  datasets: z
    .strictObject({ access: z.preprocess((v) => (v === "API_TMPFS" ? "API" : v), DatasetAccessSchema) })
    .optional(),
  limits: LimitsSchema.partial().strict().optional(),
  network: NetworkSchema.optional(),
  dependencies: DependenciesSchema.optional(),
  env: EnvSchema.optional(),
  idle_ttl_s: z.number().int().min(1).max(TTL_MAX_S).optional(),
  max_lifetime_s: z.number().int().min(1).max(TTL_MAX_S).optional(),
  labels: LabelsSchema.optional(),
  volumes: VolumeMountsSchema.optional(),
});
export type CreateSession = z.infer<typeof CreateSessionSchema>;

/** A request with every default filled in: what the session is, and what a second create of its key is compared to. */
export const SessionSpecSchema = z.object({
  runtime: LanguageSchema,
  /** Missing in those of before there was a second one. */
  engine: EngineSchema.optional(),
  image: z.string().nullable(),
  storage: StorageSchema,
  dataset_access: DatasetAccessSchema,
  network: NetworkModeSchema,
  /** With `network: "none"`: what may be reached through the daemon all the same. */
  rules: SessionRulesSchema.optional(),
  limits: LimitsSchema,
  dependencies: z.record(z.string(), z.string()),
  env: z.record(z.string(), z.string()),
  volumes: z.array(VolumeMountSchema),
  /** In megabytes, by name; volumes without one get the host's default. */
  volume_sizes: z.record(z.string(), z.number()).optional(),
  idle_ttl_s: z.number(),
  max_lifetime_s: z.number(),
  /** The snapshot that it begins with. */
  restore: z.object({ snapshot: z.string(), digest: z.string(), at: z.string() }).optional(),
  /** The most that one execution may ask for, where the tenant's policy says so. */
  max_timeout_s: z.number().optional(),
});
export type SessionSpec = z.infer<typeof SessionSpecSchema>;

export const SessionStatusSchema = z.enum([
  "creating",
  "ready",
  "busy",
  "stopping",
  "stopped",
  "lost",
  "failed",
]);
export type SessionStatus = z.infer<typeof SessionStatusSchema>;

/** What became of a context's variables. */
export const ContextReportSchema = VariableReportSchema.extend({
  name: z.string(),
  language: LanguageSchema,
});
export type ContextReport = z.infer<typeof ContextReportSchema>;

/** From which snapshot a session began. */
export const RestoredSchema = z.object({
  snapshot: z.string(),
  /** When the snapshot was made. */
  at: z.string(),
  /** Empty until the session is ready. */
  contexts: z.array(ContextReportSchema),
});
export type Restored = z.infer<typeof RestoredSchema>;

export const SessionSchema = z.object({
  id: idSchema("ses"),
  key: z.string(),
  runtime: LanguageSchema,
  engine: EngineSchema,
  /** Those that its code may be in; empty until it is ready. */
  languages: z.array(LanguageSchema),
  /** What it can do beside executions, contexts, files, artifacts and staged datasets. */
  capabilities: z.array(CapabilitySchema),
  image: z.string().nullable(),
  status: SessionStatusSchema,
  host_id: z.string().nullable(),
  storage: StorageSchema,
  datasets: z.object({ access: DatasetAccessSchema }),
  network: z.union([
    NetworkModeSchema,
    z.object({ allow: z.array(z.string()), secrets: z.array(ShownSecretSchema) }),
  ]),
  limits: LimitsSchema,
  /** Packages that were installed for it, with the versions that were asked for. */
  dependencies: z.record(z.string(), z.string()),
  labels: z.record(z.string(), z.string()),
  /** The key or token that made it. */
  created_by: z.string().nullable(),
  created_at: z.string(),
  last_used_at: z.string(),
  expires_at: z.string().nullable(),
  restored: RestoredSchema.optional(),
  error: FailureSchema.optional(),
});
export type Session = z.infer<typeof SessionSchema>;

/** @module What the routes' descriptions have in common. */
import { OpenAPIHono, z } from "@hono/zod-openapi";
import {
  ApiKeySchema,
  AuditEntrySchema,
  ContextSchema,
  DeepHealthSchema,
  EffectivePolicySchema,
  ExecutionSchema,
  HostLoadSchema,
  HostSchema,
  ProblemSchema,
  ProcessSchema,
  SessionSchema,
  SnapshotSchema,
  TenantPolicySchema,
} from "@sandbar/shared";
import type { AppEnv } from "./app-env.ts";
import { problem, validationFailure } from "./problem.ts";

export type App = OpenAPIHono<AppEnv>;

export function newApp(): App {
  const app = new OpenAPIHono<AppEnv>({
    defaultHook: (result, c) => (result.success ? undefined : problem(c, validationFailure(result.error))),
  });
  app.openAPIRegistry.registerComponent("securitySchemes", "apiKey", {
    type: "http",
    scheme: "bearer",
    description: "An API key: sbk_…",
  });
  return app;
}

/** Schemas that were made before this module was loaded know nothing of OpenAPI; a clone does. */
function named<T extends z.ZodType>(name: string, schema: T): T {
  return schema.clone().openapi(name) as T;
}

export const SessionBody = named("Session", SessionSchema);
export const ExecutionBody = named("Execution", ExecutionSchema);
export const ContextBody = named("Context", ContextSchema);
export const SnapshotBody = named("Snapshot", SnapshotSchema);
export const ProcessBody = named("Process", ProcessSchema);
/** Without `deep` it has no checks. */
export const HealthBody = named("Health", DeepHealthSchema.partial({ checks: true }));
export const HostBody = named("Host", HostSchema);
export const HostLoadBody = named("HostLoad", HostLoadSchema);
export const ApiKeyBody = named("ApiKey", ApiKeySchema);
export const AuditEntryBody = named("AuditEntry", AuditEntrySchema);
export const EffectivePolicyBody = named("EffectivePolicy", EffectivePolicySchema);
export const TenantPolicyBody = named("TenantPolicy", TenantPolicySchema);
const ProblemBody = named("Problem", ProblemSchema);

export const secured = [{ apiKey: [] }];

export const json = <T extends z.ZodType>(schema: T, description: string) => ({
  content: { "application/json": { schema } },
  description,
});

export const body = <T extends z.ZodType>(schema: T) => ({
  required: true as const,
  content: { "application/json": { schema } },
});

export const events = (description: string) => ({
  content: { "text/event-stream": { schema: z.string() } },
  description,
});

export const flag = z.enum(["true", "false"]).transform((value) => value === "true");

export const refused = {
  "4XX": { content: { "application/problem+json": { schema: ProblemBody } }, description: "Refused" },
  "5XX": { content: { "application/problem+json": { schema: ProblemBody } }, description: "Failed" },
} as const;

export const listOf = <T extends z.ZodType>(schema: T) =>
  z.object({ data: z.array(schema), next_cursor: z.string().nullable() });

const CursorSchema = z
  .string()
  .regex(/^[a-z]{3}_[0-9a-z]{26}$/, "must be a next_cursor of an earlier answer");

export const PageQuery = z.object({
  limit: z.coerce.number().int().min(1).max(200).default(50),
  cursor: CursorSchema.optional(),
});

/** A page of rows that were read with one row more than asked for, which says whether there are others. */
export function page<T extends { id: string }>(
  rows: T[],
  limit: number,
): { data: T[]; next_cursor: string | null } {
  const data = rows.slice(0, limit);
  return { data, next_cursor: rows.length > limit ? data.at(-1)!.id : null };
}

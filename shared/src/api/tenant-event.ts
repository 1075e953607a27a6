/** @module What happens in a tenant, as its event stream tells it. */
import { z } from "zod";
import { ErrorCodeSchema } from "../errors.ts";
import { ArtifactSchema } from "./artifact.ts";
import { ExecutionStatusSchema } from "./execution.ts";
import { HostSchema } from "./host.ts";
import { LanguageSchema, SessionSchema } from "./session.ts";

/** Characters of the code in an event. */
export const EVENT_CODE_CHARS = 200;

/** What code that failed by itself counts as; other endings have a code of the error table. */
export const EXECUTION_ERROR = "EXECUTION_ERROR";
export const ExecutionErrorCodeSchema = z.union([ErrorCodeSchema, z.literal(EXECUTION_ERROR)]);

export const ExecutionNewsSchema = z.object({
  session: z.string(),
  execution: z.string(),
  context: z.string(),
  language: LanguageSchema,
  /** One that has ended before it was told of is told of once. */
  state: z.enum(["started", "ended"]),
  status: ExecutionStatusSchema,
  /** Null while it runs, and when it ended well. */
  error_code: ExecutionErrorCodeSchema.nullable(),
  /** Its beginning. */
  code: z.string(),
  created_at: z.string(),
  ended_at: z.string().nullable(),
  duration_ms: z.number().nullable(),
});
export type ExecutionNews = z.infer<typeof ExecutionNewsSchema>;

export const HostNewsSchema = HostSchema.extend({
  /** It is not in the list any more. */
  removed: z.literal(true).optional(),
});
export type HostNews = z.infer<typeof HostNewsSchema>;

/**
 * `hello` is the first of every connection: what was before it is in the lists. `reset`: events are missing here, read
 * the lists again. `host` is for callers with the scope operator.
 */
export const TenantEventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("hello"), id: z.string(), data: z.object({}) }),
  z.object({ type: z.literal("session"), id: z.string(), data: SessionSchema }),
  z.object({ type: z.literal("execution"), id: z.string(), data: ExecutionNewsSchema }),
  z.object({ type: z.literal("artifact"), id: z.string(), data: ArtifactSchema }),
  z.object({ type: z.literal("host"), id: z.string(), data: HostNewsSchema }),
  z.object({ type: z.literal("reset"), id: z.string(), data: z.object({}) }),
]);
export type TenantEvent = z.infer<typeof TenantEventSchema>;

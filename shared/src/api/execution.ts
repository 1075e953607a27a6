/** @module The Execution resource, its events, and the outcome that a host reports. */
import { z } from "zod";
import { CODE_LIMIT_CHARS, STDIN_LIMIT_CHARS, TIMEOUT_MAX_S } from "../limits.ts";
import { isWellFormed, wellFormed } from "../text.ts";
import { ArtifactSchema } from "./artifact.ts";
import { EnvSchema, LanguageSchema } from "./session.ts";

export const ContextRefSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/, "must be a context id or name");

export const CreateExecutionSchema = z.strictObject({
  // NUL is legal in no language we run, and lone surrogates cannot be encoded.
  code: z.string().max(CODE_LIMIT_CHARS).refine(isWellFormed, "must be well-formed Unicode without NUL"),
  language: LanguageSchema.optional(),
  context: ContextRefSchema.optional(),
  timeout_s: z.number().min(0.05).max(TIMEOUT_MAX_S).optional(),
  env: EnvSchema.optional(),
  stdin: wellFormed(z.string().max(STDIN_LIMIT_CHARS)).optional(),
});
export type CreateExecution = z.infer<typeof CreateExecutionSchema>;

export const ExecutionStatusSchema = z.enum([
  "queued",
  "running",
  "ok",
  "error",
  "timeout",
  "interrupted",
  "died",
  "unknown",
]);
export type ExecutionStatus = z.infer<typeof ExecutionStatusSchema>;

export const MimeBundleSchema = z.record(z.string().max(128), z.unknown());
export type MimeBundle = z.infer<typeof MimeBundleSchema>;

export const ExecutionErrorSchema = z.object({ name: z.string(), value: z.string(), traceback: z.string() });
export type ExecutionError = z.infer<typeof ExecutionErrorSchema>;

export const SurvivalSchema = z.object({
  variables: z.enum(["kept", "lost"]),
  files: z.enum(["kept", "lost"]),
  /** Why the variables were gone before this code began, and since when; the first execution after the loss says it. */
  reason: z.string().max(1000).optional(),
  lost_at: z.string().max(64).optional(),
});
export type Survival = z.infer<typeof SurvivalSchema>;

/** What a kernel says while code runs. `seq` counts from 1 in the guest, without gaps, per execution. */
export const KernelEventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("started"), seq: z.number().int().positive() }),
  z.object({ type: z.literal("stdout"), seq: z.number().int().positive(), text: z.string() }),
  z.object({ type: z.literal("stderr"), seq: z.number().int().positive(), text: z.string() }),
  z.object({ type: z.literal("result"), seq: z.number().int().positive(), data: MimeBundleSchema }),
  z.object({ type: z.literal("error"), seq: z.number().int().positive(), ...ExecutionErrorSchema.shape }),
]);
export type KernelEvent = z.infer<typeof KernelEventSchema>;

export const TotalsSchema = z.object({
  stdout: z.number().int().nonnegative(),
  stderr: z.number().int().nonnegative(),
  /** MIME values left out because they were too large. */
  results_dropped: z.number().int().nonnegative().default(0),
  /** The MIME types of those, and how long the longest was. */
  left_out: z.record(z.string().max(128), z.number().int().nonnegative()).optional(),
  /** Length of the longest text value that was cut. */
  result: z.number().int().nonnegative().optional(),
  /** Length of an error's value and traceback that were cut. */
  error: z.number().int().nonnegative().optional(),
  traceback: z.number().int().nonnegative().optional(),
});

/** How an execution ended, in the daemon's judgement. */
export const OutcomeSchema = z.object({
  status: z.enum(["ok", "error", "timeout", "interrupted", "died", "unknown"]),
  /** Set for endings that are not the code's own doing; the name is from the error table. */
  error: ExecutionErrorSchema.nullable(),
  exit_code: z.number().int().nullable(),
  totals: TotalsSchema.nullable(),
  state: SurvivalSchema,
  started_at: z.number().nullable(),
  finished_at: z.number(),
  /** Count of guest events of this execution; null when the guest is gone and nobody can tell. */
  last_seq: z.number().int().nonnegative().nullable(),
  artifacts: z.array(ArtifactSchema).default([]),
  artifacts_skipped: z.array(z.object({ name: z.string(), reason: z.string() })).default([]),
});
export type Outcome = z.infer<typeof OutcomeSchema>;

export const ExecutionSchema = z.object({
  id: z.string(),
  session_id: z.string(),
  context: z.string(),
  language: LanguageSchema,
  status: ExecutionStatusSchema,
  code: z
    .string()
    .nullable()
    .optional()
    .describe(
      "In lists, and of one that is asked for by its id: what ran. Null when it is too long to be kept.",
    ),
  stdout: z.string(),
  stderr: z.string(),
  /** The last `text/plain` result: what a REPL would have printed. */
  text: z.string().nullable(),
  results: z.array(MimeBundleSchema),
  error: ExecutionErrorSchema.nullable(),
  exit_code: z.number().int().nullable().optional(),
  truncated: z
    .record(z.string(), z.number())
    .describe(
      "What was cut, and how long it was: stdout, stderr, result (the longest text of a value), error (its value), traceback. " +
        "A MIME type names values that were left out, since half of one is worth nothing; results counts them.",
    ),
  artifacts: z.array(ArtifactSchema),
  artifacts_skipped: z.array(z.object({ name: z.string(), reason: z.string() })),
  state: SurvivalSchema,
  /** The key or token that asked for it. */
  created_by: z.string().nullable(),
  queued_at: z.string(),
  started_at: z.string().nullable(),
  finished_at: z.string().nullable(),
  duration_ms: z.number().nullable(),
});
export type Execution = z.infer<typeof ExecutionSchema>;

/** @module One call that runs code in a session of its own: what is kept of it is in the answer. */
import { z } from "zod";
import { ErrorCodeSchema } from "../errors.ts";
import { CreateExecutionSchema, ExecutionSchema } from "./execution.ts";
import { CreateSessionSchema, RestoredSchema } from "./session.ts";
import { CreateSnapshotSchema, SnapshotSchema } from "./snapshot.ts";

/** Of a snapshot that travels within a request or an answer, in base64. */
export const SNAPSHOT_TEXT_CHARS = 7_000_000;

export const RunOnceSchema = CreateSessionSchema.pick({
  snapshot: true,
  runtime: true,
  engine: true,
  image: true,
  limits: true,
  network: true,
  dependencies: true,
  env: true,
})
  .extend(
    CreateExecutionSchema.pick({ code: true, language: true, context: true, timeout_s: true, stdin: true })
      .shape,
  )
  .extend({
    /** One that an earlier answer gave, in base64; instead of `snapshot`. */
    snapshot_bytes: z
      .string()
      .max(SNAPSHOT_TEXT_CHARS)
      .regex(/^[A-Za-z0-9+/]+={0,2}$/, "must be base64")
      .optional(),
    keep: z.enum(["nothing", "snapshot", "bytes"]).optional(),
    ttl_s: CreateSnapshotSchema.shape.ttl_s,
  })
  .strict()
  .refine(({ snapshot, snapshot_bytes }) => snapshot === undefined || snapshot_bytes === undefined, {
    path: ["snapshot_bytes"],
    message: "cannot be given beside snapshot",
  });
export type RunOnce = z.infer<typeof RunOnceSchema>;

/** Why nothing was kept of code that has run; running it again would do everything twice. */
export const KeepErrorSchema = z.object({ code: ErrorCodeSchema, detail: z.string(), hint: z.string() });

export const RunOnceAnswerSchema = z.object({
  execution: ExecutionSchema,
  restored: RestoredSchema.optional(),
  snapshot: SnapshotSchema.optional(),
  snapshot_bytes: z.string().optional(),
  keep_error: KeepErrorSchema.optional(),
});
export type RunOnceAnswer = z.infer<typeof RunOnceAnswerSchema>;

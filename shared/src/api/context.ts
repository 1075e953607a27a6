/** @module Named kernels of a session. */
import { z } from "zod";
import { ContextRefSchema } from "./execution.ts";
import { LanguageSchema } from "./session.ts";

export const CreateContextSchema = z.strictObject({ name: ContextRefSchema, language: LanguageSchema });
export const ContextSchema = z.object({
  id: z.string(),
  name: z.string(),
  language: LanguageSchema,
  created_at: z.string(),
  queued: z.number().int(),
  running: z.string().nullable(),
  /** When its variables were last lost while no code ran in it, and why. */
  lost: z.object({ at: z.string(), reason: z.string() }).nullable(),
});

export const ContextStateSchema = z.object({
  /** The first 500. */
  variables: z.array(
    z.object({ name: z.string(), type: z.string(), repr: z.string(), size: z.number().int().nullable() }),
  ),
  /** How many variables there are. */
  total: z.number().int(),
  imports: z.array(z.string()),
  cwd: z.string(),
});
/** Of code, in UTF-16 units. */
const position = z.number().int().nonnegative();
const COMPLETION_CODE = 100_000;

export const CompleteSchema = z
  .strictObject({
    code: z.string().max(COMPLETION_CODE),
    /** Where in the code, in UTF-16 units as JavaScript counts them. */
    cursor: position,
    context: ContextRefSchema.optional(),
  })
  .refine(({ code, cursor }) => cursor <= code.length, {
    path: ["cursor"],
    message: "must be at most the length of the code, in UTF-16 units",
  });

export const CompletionSchema = z.object({
  /** At most 200, each of at most 300 characters. */
  matches: z
    .array(
      z.object({
        /** Stands for the code from `start` to `end`. */
        text: z.string().max(600),
        /** Such as `function`, `class`, `module`, `instance`, `property`, `keyword`, `param`, `key`, `path`. */
        type: z.string().max(600).nullable(),
        signature: z.string().max(600).optional(),
      }),
    )
    .max(200),
  start: position,
  end: position,
  /** The context runs code: nothing was looked for. */
  busy: z.boolean(),
});
export type Completion = z.infer<typeof CompletionSchema>;
export type ContextState = z.infer<typeof ContextStateSchema>;
export type Context = z.infer<typeof ContextSchema>;

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
export type Context = z.infer<typeof ContextSchema>;

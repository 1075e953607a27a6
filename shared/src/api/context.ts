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
export type ContextState = z.infer<typeof ContextStateSchema>;
export type Context = z.infer<typeof ContextSchema>;

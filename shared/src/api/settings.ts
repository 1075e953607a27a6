/** @module The agent's settings, as a tenant sees and changes them. */
import { z } from "zod";
import { wellFormed } from "../text.ts";
import { ProviderSchema } from "../wire/agent-calls.ts";

export const ITERATIONS_DEFAULT = 25;

const Secret = wellFormed(z.string().min(1).max(4_000)).regex(/^[\x21-\x7e]+$/, "must be visible ASCII");

/** `provider:model`. */
export const ModelNameSchema = z
  .string()
  .max(300)
  .regex(new RegExp(`^(${ProviderSchema.options.join("|")}):\\S+$`), {
    error: `must be provider:model; providers are ${ProviderSchema.options.join(", ")}`,
  });

/** Fields that are left out stay as they are; null takes them back to the environment's. */
export const PutSettingsSchema = z.strictObject({
  model: ModelNameSchema.nullish(),
  base_url: z
    .url({ protocol: /^https?$/ })
    .max(2_000)
    .nullish(),
  /** Of the chosen model's provider. */
  api_key: Secret.nullish(),
  api_keys: z.partialRecord(ProviderSchema, Secret.nullable()).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  iterations: z.number().int().min(1).max(200).nullish(),
  prompt: wellFormed(z.string().max(20_000)).nullish(),
  approval: z.boolean().nullish(),
  read_only: z.boolean().nullish(),
  /** Null: as the model's profile says. */
  vision: z.boolean().nullish(),
});
export type PutSettings = z.infer<typeof PutSettingsSchema>;

/** That a secret is there, and by which of one's keys it can be told. */
export const KeptSecretSchema = z.object({
  set: z.boolean(),
  last_four: z.string().nullable(),
  /** Whose it is. */
  from: z.enum(["settings", "environment"]).nullable(),
});

export const SettingsSchema = z.object({
  model: z.string().nullable(),
  base_url: z.string().nullable(),
  api_keys: z.partialRecord(ProviderSchema, KeptSecretSchema),
  temperature: z.number().nullable(),
  iterations: z.number().int(),
  prompt: z.string(),
  approval: z.boolean(),
  read_only: z.boolean(),
  vision: z.boolean().nullable(),
  /** Which of these the tenant has set. */
  own: z.array(z.string()),
  /** Whether the agent can be asked; when not, what to set. */
  ready: z.boolean(),
  missing: z.string().nullable(),
  updated_at: z.string().nullable(),
});
export type Settings = z.infer<typeof SettingsSchema>;

/** What may be chosen: which providers can be asked, and what an Ollama that runs has. */
export const ModelChoicesSchema = z.object({
  providers: z.array(
    z.object({
      provider: ProviderSchema,
      /** It has a key, or it needs none and answers. */
      ready: z.boolean(),
      /** Whose key would be used. */
      key: z.enum(["settings", "environment"]).nullable(),
      /** As `provider:model`; of Ollama what it has pulled, of others nothing. */
      models: z.array(z.string()),
      /** Why it is not ready. */
      detail: z.string().nullable(),
    }),
  ),
});
export type ModelChoices = z.infer<typeof ModelChoicesSchema>;

export const ModelTestSchema = z.object({
  ok: z.boolean(),
  detail: z.string(),
  model: z.string().nullable(),
  duration_ms: z.number(),
});

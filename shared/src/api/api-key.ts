/** @module API keys, their scopes and tenants. */
import { z } from "zod";
import { wellFormed } from "../text.ts";

export const ScopeSchema = z.enum(["agent", "operator", "admin"]);
export type Scope = z.infer<typeof ScopeSchema>;

export const TenantSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "must be lower-case letters, digits, - and _");

export const CreateApiKeySchema = z.strictObject({
  name: wellFormed(z.string().min(1).max(128)),
  tenant: TenantSchema.optional(),
  scopes: z.array(ScopeSchema).min(1).max(3),
  expires_at: z.iso
    .datetime({ offset: true })
    .refine(
      (time) => Date.parse(time) > Date.now(),
      "must lie in the future; leave it out for a key that does not expire",
    )
    .optional(),
});

export const ApiKeySchema = z.object({
  id: z.string(),
  name: z.string(),
  tenant: z.string(),
  scopes: z.array(ScopeSchema),
  created_at: z.string(),
  expires_at: z.string().nullable(),
  /** Within some minutes; null when it never was. */
  last_used_at: z.string().nullable(),
});
export type ApiKey = z.infer<typeof ApiKeySchema>;

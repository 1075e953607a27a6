/** @module The audit log: who did what, to what, and how it ended. */
import { z } from "zod";

/** How the caller was known: an API key, the console's cookie, a session's token, the agent in a key's name, a host's proof. */
export const AuditViaSchema = z.enum(["key", "cookie", "token", "agent", "host"]);

export const AuditEntrySchema = z.object({
  id: z.string(),
  at: z.string(),
  /** Of the last one, where the same happened several times within seconds; `count` says how often. */
  last_at: z.string(),
  count: z.number().int().positive(),
  /** Null when nobody was known, and of what concerns no tenant. */
  tenant: z.string().nullable(),
  key_id: z.string().nullable(),
  token_id: z.string().nullable(),
  via: AuditViaSchema.nullable(),
  address: z.string().nullable(),
  action: z.string(),
  target: z.string().nullable(),
  /** `ok`, or the code of the refusal. */
  result: z.string(),
  request_id: z.string().nullable(),
  detail: z.string().nullable(),
});
export type AuditEntry = z.infer<typeof AuditEntrySchema>;

export const AUDIT_DETAIL_CHARS = 1_000;

/** @module Tokens for one session: what a browser, an end user or an agent gets instead of the tenant's key. */
import { z } from "zod";
import { wellFormed } from "../text.ts";

/** What a token may be used for. Each of them includes to look at the session itself. */
export const TOKEN_VERBS = ["run", "files", "terminal", "ports", "read"] as const;
export const TokenVerbSchema = z.enum(TOKEN_VERBS);
export type TokenVerb = z.infer<typeof TokenVerbSchema>;

export const TOKEN_PREFIX = "sbt_";
export const TOKEN_TTL_MIN_S = 60;
export const TOKEN_TTL_MAX_S = 24 * 3600;
export const TOKEN_TTL_DEFAULT_S = 3600;
/** Of one session at once. */
export const TOKEN_LIMIT = 100;

export const CreateSessionTokenSchema = z.strictObject({
  verbs: z
    .array(TokenVerbSchema)
    .min(1)
    .max(TOKEN_VERBS.length)
    .refine((verbs) => new Set(verbs).size === verbs.length, "must name each verb once"),
  ttl_s: z.number().int().min(TOKEN_TTL_MIN_S).max(TOKEN_TTL_MAX_S).default(TOKEN_TTL_DEFAULT_S),
  /** Says whom it is for, in lists. */
  label: wellFormed(z.string().min(1).max(128)).optional(),
});
export type CreateSessionToken = z.input<typeof CreateSessionTokenSchema>;

export const SessionTokenSchema = z.object({
  id: z.string(),
  session_id: z.string(),
  verbs: z.array(TokenVerbSchema),
  label: z.string().nullable(),
  /** The key that made it, and with which it ends. */
  key_id: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
});
export type SessionToken = z.infer<typeof SessionTokenSchema>;

/** Only the answer that makes a token has it. */
export const NewSessionTokenSchema = SessionTokenSchema.extend({ token: z.string() });
export type NewSessionToken = z.infer<typeof NewSessionTokenSchema>;

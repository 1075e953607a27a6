/** @module Who calls, how a browser signs in to the console, and how it looks at a session's servers. */
import { z } from "zod";
import { ScopeSchema } from "./api-key.ts";
import { SessionTokenSchema } from "./session-token.ts";

export const MeSchema = z.object({
  tenant: z.string(),
  key: z.object({ id: z.string(), name: z.string() }),
  /** With those that others include. */
  scopes: z.array(ScopeSchema),
  /** When this key, or this browser's session, ends. */
  expires_at: z.string().nullable(),
  via: z.enum(["key", "cookie", "token"]),
  /** With a session's token: its session and what it may do there. */
  token: SessionTokenSchema.pick({ id: true, session_id: true, verbs: true }).optional(),
});
export type Me = z.infer<typeof MeSchema>;

/** One of the two. */
export const SignInSchema = z.union([
  z.strictObject({ api_key: z.string().min(1).max(200) }),
  z.strictObject({ code: z.string().min(1).max(200) }),
]);
export type SignIn = z.infer<typeof SignInSchema>;

export const ConsoleLinkSchema = z.object({
  /** Works once. The code is its fragment, which browsers send to nobody. */
  url: z.string(),
  code: z.string(),
  expires_at: z.string(),
});
export type ConsoleLink = z.infer<typeof ConsoleLinkSchema>;

export const PreviewSchema = z.object({
  /** Shows the port to whoever has it, without key or cookie. */
  url: z.string(),
  expires_at: z.string(),
});
export type Preview = z.infer<typeof PreviewSchema>;

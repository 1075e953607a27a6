/** @module What a session's token is: signed claims that name a row in D1, which says what it may do. */
import { type SessionToken, TOKEN_PREFIX } from "@sandbar/shared";
import type { SigningEnv } from "./artifacts/signing-keys.ts";
import { openToken, signedToken } from "./signed-token.ts";

const AUDIENCE = "session";

export async function sessionTokenOf(
  env: SigningEnv,
  { id, session_id, expires_at }: SessionToken,
): Promise<string> {
  const expires = Math.floor(Date.parse(expires_at) / 1000);
  const of = { audience: AUDIENCE, subject: id };
  return TOKEN_PREFIX + (await signedToken(env, of, { session: session_id }, expires));
}

/** `token` is without its prefix; null when it is not ours, not for this, or over. */
export async function sessionTokenId(env: SigningEnv, token: string): Promise<string | null> {
  return (await openToken(env, token, { audience: AUDIENCE }))?.sub ?? null;
}

/** @module Tokens that this deployment signs for one purpose each, its audience: links, cookies, previews. */
import { decodeProtectedHeader, type JWTPayload, jwtVerify, SignJWT } from "jose";
import { currentKey, keyById, type SigningEnv } from "./artifacts/signing-keys.ts";

const LONGEST_CHARS = 2_048;

export interface TokenOf {
  readonly audience: string;
  readonly subject: string;
}

/** `expires` in seconds since 1970. */
export async function signedToken(
  env: SigningEnv,
  { audience, subject }: TokenOf,
  claims: JWTPayload,
  expires: number,
): Promise<string> {
  const key = await currentKey(env);
  return new SignJWT(claims)
    .setProtectedHeader({ alg: "HS256", kid: key.kid })
    .setSubject(subject)
    .setAudience(audience)
    .setExpirationTime(expires)
    .sign(key.secret);
}

/** Its claims, or null when it is not ours, not for this, or over. */
export async function openToken(
  env: SigningEnv,
  token: string,
  { audience, subject }: Pick<TokenOf, "audience"> & Partial<TokenOf>,
): Promise<JWTPayload | null> {
  if (token.length > LONGEST_CHARS) return null;
  try {
    const { kid } = decodeProtectedHeader(token);
    const key = kid === undefined ? null : await keyById(env, kid);
    if (!key) return null;
    const { payload } = await jwtVerify(token, key.secret, {
      algorithms: ["HS256"],
      audience,
      requiredClaims: ["exp", "sub"],
      ...(subject === undefined ? {} : { subject }),
    });
    return payload;
  } catch {
    return null;
  }
}

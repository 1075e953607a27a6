/** @module What a preview's link carries: whose session and port it shows, and who answers for it. */
import { z } from "zod";
import type { SigningEnv } from "../artifacts/signing-keys.ts";
import { openToken, signedToken } from "../signed-token.ts";

const AUDIENCE = "preview";

const ClaimsSchema = z.object({
  sub: z.string(),
  tenant: z.string(),
  port: z.number().int(),
  /** Of whoever made the link: with that it ends. */
  credential: z.string(),
});

export interface PreviewOf {
  readonly session: string;
  readonly tenant: string;
  readonly port: number;
  readonly credential: string;
}

/** `expires` in seconds since 1970. */
export function previewToken(env: SigningEnv, of: PreviewOf, expires: number): Promise<string> {
  const { session, tenant, port, credential } = of;
  return signedToken(env, { audience: AUDIENCE, subject: session }, { tenant, port, credential }, expires);
}

export async function openPreviewToken(env: SigningEnv, token: string): Promise<PreviewOf | null> {
  const claims = ClaimsSchema.safeParse(await openToken(env, token, { audience: AUDIENCE })).data;
  if (!claims) return null;
  const { sub, tenant, port, credential } = claims;
  return { session: sub, tenant, port, credential };
}

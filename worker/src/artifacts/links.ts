/** @module Links to an artifact's bytes: a token of our own, or a presigned R2 URL. */
import type { Artifact, Execution } from "@sandbar/shared";
import type { Env } from "../env.ts";
import { openToken, signedToken } from "../signed-token.ts";
import { findBlob } from "./blob-store.ts";
import { contentDisposition, servedType } from "./headers.ts";
import { presign, r2Credentials } from "./presign.ts";
import { LINK_MAX_S } from "./signing-keys.ts";

export const LINK_DEFAULT_S = 600;

/** Who asks, and where: links are absolute. */
export interface LinkTo {
  readonly tenant: string;
  readonly origin: string;
}

type Linkable = Pick<Artifact, "id" | "name" | "mime" | "sha256" | "expires_at">;

export async function linkTo(
  env: Env,
  to: LinkTo,
  artifact: Linkable,
  expiresInS = LINK_DEFAULT_S,
): Promise<{ url: string; expires_at: string }> {
  // A link does not outlive what it leads to.
  const left = artifact.expires_at
    ? Math.floor((Date.parse(artifact.expires_at) - Date.now()) / 1000)
    : LINK_MAX_S;
  const seconds = Math.max(1, Math.min(expiresInS, left, LINK_MAX_S));
  const expires = Math.floor(Date.now() / 1000) + seconds;
  const url =
    (await presignedLink(env, to.tenant, artifact, seconds)) ??
    `${to.origin}/artifacts/${artifact.id}?token=${await newToken(env, to.tenant, artifact.id, expires)}`;
  return { url, expires_at: new Date(expires * 1000).toISOString() };
}

async function presignedLink(env: Env, tenant: string, artifact: Linkable, seconds: number) {
  const credentials = r2Credentials(env);
  if (!credentials) return null;
  const blob = await findBlob(env, tenant, artifact.sha256);
  // What shares an object was stored before there were credentials.
  if (!blob || blob.object_offset > 0 || blob.object_key.includes("+")) return null;
  const query = {
    "response-content-disposition": contentDisposition(artifact.name),
    "response-content-type": servedType(artifact.mime),
  };
  return presign(credentials, "GET", blob.object_key, query, seconds);
}

const tokenOf = (artifact: string) => ({ audience: "artifact", subject: artifact });

function newToken(env: Env, tenant: string, artifact: string, expires: number): Promise<string> {
  return signedToken(env, tokenOf(artifact), { tenant, method: "GET" }, expires);
}

/** The tenant whose artifact the token opens; null when it opens nothing. */
export async function openedBy(env: Env, artifact: string, token: string): Promise<string | null> {
  const claims = await openToken(env, token, tokenOf(artifact));
  return claims?.method === "GET" && typeof claims.tenant === "string" ? claims.tenant : null;
}

export function withLinks<T extends Linkable>(
  env: Env,
  to: LinkTo,
  artifacts: readonly T[],
): Promise<(T & { url: string })[]> {
  return Promise.all(
    artifacts.map(async (artifact) => ({ ...artifact, url: (await linkTo(env, to, artifact)).url })),
  );
}

export async function executionWithLinks(env: Env, to: LinkTo, execution: Execution): Promise<Execution> {
  if (execution.artifacts.length === 0) return execution;
  return { ...execution, artifacts: await withLinks(env, to, execution.artifacts) };
}

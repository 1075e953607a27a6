/** @module What an operator may set about artifacts. A limit of 0 means none. */
import type { Env } from "../env.ts";

const MB = 1024 * 1024;
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

export interface ArtifactLimits {
  /** Of one file. */
  readonly fileBytes: number;
  readonly perExecution: number;
  readonly sessionBytes: number;
  readonly tenantBytes: number;
  readonly tenantCount: number;
}

export function artifactLimits(env: Env): ArtifactLimits {
  return {
    fileBytes: limit(env.ARTIFACT_MAX_BYTES, 2048 * MB),
    perExecution: limit(env.ARTIFACT_MAX_PER_EXECUTION, 1_000),
    sessionBytes: limit(env.SESSION_ARTIFACT_BYTES, 10_240 * MB),
    tenantBytes: limit(env.TENANT_ARTIFACT_BYTES, 102_400 * MB),
    tenantCount: limit(env.TENANT_ARTIFACT_COUNT, 1_000_000),
  };
}

/** Null: kept until deleted. */
export function artifactTtlMs(env: Env): number | null {
  const seconds = number(env.ARTIFACT_TTL_S, 30 * 24 * 3600);
  return seconds === 0 ? null : seconds * 1000;
}

/** Cloudflare refuses larger requests, so we do everywhere. */
export const maxBodyBytes = (env: Env) => number(env.MAX_BODY_BYTES, 100 * 1000 * 1000);

/** Content without an artifact may belong to an ingestion that is still on its way. */
export const blobGraceMs = (env: Env) => number(env.BLOB_GRACE_S, 3600) * 1000;

/** What a host has for a snapshot of a session of many gigabytes, whose code may have to end first. */
export const SNAPSHOT_MS = 2 * 3600_000;

/** A snapshot that is so old and not complete will never be. */
export const snapshotGraceMs = (env: Env) => Math.max(blobGraceMs(env), SNAPSHOT_MS + 3600_000);

export const signingKeyAgeMs = (env: Env) => number(env.SIGNING_KEY_MAX_AGE_S, 30 * 24 * 3600) * 1000;

function limit(value: string | undefined, fallback: number): number {
  return number(value, fallback) || NO_LIMIT;
}

function number(value: string | undefined, fallback: number): number {
  const parsed = Number(value);
  return value !== undefined && value !== "" && Number.isFinite(parsed) && parsed >= 0 ? parsed : fallback;
}

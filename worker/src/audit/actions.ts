/**
 * What the audit log calls each route, and how much of it: `each` has a line every time, `use` one an hour for each
 * caller and session. Code runs too often for a line each, and a session's journal knows who started what.
 *
 * @module
 */
import type { ErrorCode } from "@sandbar/shared";

export interface Audited {
  readonly action: string;
  readonly kind: "each" | "use";
}

const each = (action: string): Audited => ({ action, kind: "each" });
const use = (action: string): Audited => ({ action, kind: "use" });

const SESSION = "/v1/sessions/:id";

/** By method and pattern; `null` is for what changes nothing that matters. Every route that is no GET stands here. */
export const AUDITED: Record<string, Audited | null> = {
  "POST /v1/sessions": each("session.create"),
  [`DELETE ${SESSION}`]: each("session.delete"),
  [`PUT ${SESSION}/network`]: each("session.network"),
  [`POST ${SESSION}/tokens`]: each("session.token.create"),
  [`DELETE ${SESSION}/tokens/:tid`]: each("session.token.revoke"),
  [`POST ${SESSION}/executions`]: use("session.run"),
  [`POST ${SESSION}/executions/:eid/interrupt`]: use("session.interrupt"),
  [`POST ${SESSION}/complete`]: null,
  [`POST ${SESSION}/contexts`]: use("session.contexts"),
  [`DELETE ${SESSION}/contexts/:cid`]: use("session.contexts"),
  [`POST ${SESSION}/contexts/:cid/restart`]: use("session.contexts"),
  [`PUT ${SESSION}/files`]: use("session.files.write"),
  [`DELETE ${SESSION}/files`]: use("session.files.write"),
  [`POST ${SESSION}/files/mkdir`]: use("session.files.write"),
  [`POST ${SESSION}/files/move`]: use("session.files.write"),
  [`POST ${SESSION}/import`]: each("session.import"),
  [`POST ${SESSION}/export`]: use("session.export"),
  [`POST ${SESSION}/datasets`]: use("session.datasets"),
  [`PUT ${SESSION}/datasets/:dataset`]: use("session.datasets"),
  [`DELETE ${SESSION}/datasets/:dataset`]: use("session.datasets"),
  [`POST ${SESSION}/datasets/:dataset/export`]: use("session.export"),
  [`POST ${SESSION}/snapshots`]: each("session.snapshot"),
  [`POST ${SESSION}/fork`]: each("session.fork"),
  "DELETE /v1/snapshots/:id": each("snapshot.delete"),
  "POST /v1/run": each("session.run-once"),
  [`POST ${SESSION}/processes`]: use("session.processes"),
  [`DELETE ${SESSION}/processes/:pid`]: use("session.processes"),
  [`POST ${SESSION}/processes/:pid/stdin`]: use("session.processes"),
  [`POST ${SESSION}/processes/:pid/signal`]: use("session.processes"),
  [`POST ${SESSION}/processes/:pid/resize`]: null,
  [`GET ${SESSION}/terminal`]: use("session.terminal"),
  [`POST ${SESSION}/ports/:port/preview`]: each("session.preview"),
  "POST /v1/artifacts/:id/link": each("artifact.link"),
  "DELETE /v1/artifacts/:id": each("artifact.delete"),
  "POST /v1/volumes": each("volume.create"),
  "DELETE /v1/volumes/:name": each("volume.delete"),
  "PUT /v1/secrets/:name": each("secret.set"),
  "DELETE /v1/secrets/:name": each("secret.delete"),
  "POST /v1/keys": each("key.create"),
  "DELETE /v1/keys/:id": each("key.revoke"),
  "POST /v1/hosts/enrollments": each("host.enroll"),
  "POST /v1/hosts/:id/cordon": each("host.cordon"),
  "POST /v1/hosts/:id/uncordon": each("host.uncordon"),
  "POST /v1/hosts/:id/drain": each("host.drain"),
  "DELETE /v1/hosts/:id": each("host.remove"),
  "POST /v1/dataset-sources": each("source.create"),
  "DELETE /v1/dataset-sources/:id": each("source.delete"),
  "PUT /v1/policies/:tenant": each("policy.change"),
  "DELETE /v1/policies/:tenant": each("policy.delete"),
  "PUT /v1/settings": each("settings.change"),
  "POST /v1/settings/test": null,
  "POST /v1/console/codes": each("console.link"),
  "POST /console/sign-in": each("console.sign-in"),
  "POST /console/sign-out": each("console.sign-out"),
  "POST /agent/join": each("host.join"),
};

/** Refusals that say that somebody may not do a thing, wherever they are met. */
const TELLING = new Set<ErrorCode>([
  "UNAUTHENTICATED",
  "ENROLLMENT_INVALID",
  "FORBIDDEN",
  "FORBIDDEN_BY_POLICY",
  "FORBIDDEN_BY_TOKEN",
  "LINK_INVALID",
  "ORIGIN_NOT_ALLOWED",
  "HOST_NAME_NOT_ALLOWED",
  "IMAGE_NOT_ALLOWED",
  "SOURCE_NOT_ALLOWED",
  "MODEL_URL_NOT_ALLOWED",
  "QUOTA_EXCEEDED",
  "LIMIT_EXCEEDED",
  "RATE_LIMITED",
  "SESSION_LIMIT",
]);

export type Line = { readonly action: string; readonly kind: "each" | "use" | "refusal" };

/** What the log says of a request, or null when it says nothing. */
export function lineOf(method: string, pattern: string, refusal: ErrorCode | null): Line | null {
  const route = `${method} ${pattern}`;
  const known = AUDITED[route];
  if (refusal === null) return known ?? null;
  if (known?.kind !== "each" && !TELLING.has(refusal)) return null;
  // The pattern, not the path: a path may be somebody's secret.
  return { action: known?.action ?? route, kind: "refusal" };
}

/** @module Every refusal as `application/problem+json`. */
import { type Failure, SandbarError, toProblem } from "@sandbar/shared";
import type { Context } from "hono";
import { HTTPException } from "hono/http-exception";
import type { z } from "zod";
import type { AppEnv } from "./app-env.ts";

export function problem(c: Context<AppEnv>, failure: Failure, headers?: Record<string, string>): Response {
  c.set("refusal", failure.code);
  const document = toProblem(failure, c.get("requestId"));
  return c.body(JSON.stringify(document), document.status as 400, {
    "Content-Type": "application/problem+json",
    ...(failure.retry_after_s === undefined
      ? {}
      : { "Retry-After": String(Math.ceil(failure.retry_after_s)) }),
    ...(failure.code === "UNAUTHENTICATED" ? { "WWW-Authenticate": "Bearer" } : {}),
    ...headers,
  });
}

export function onError(error: unknown, c: Context<AppEnv>): Response {
  if (error instanceof SandbarError) return problem(c, error.failure);
  if (error instanceof HTTPException) {
    const { message, status } = error;
    if (status === 400)
      return problem(c, {
        code: /json/i.test(message) ? "INVALID_JSON" : "VALIDATION_FAILED",
        detail: message || "The request could not be read",
      });
    if (status === 415) return problem(c, { code: "UNSUPPORTED_MEDIA_TYPE", detail: message });
    if (status === 413) return problem(c, { code: "PAYLOAD_TOO_LARGE", detail: message });
  }
  // A preview's path has the token that opens it.
  const path = c.req.path.replace(/^\/preview\/[^/]+/, "/preview/…");
  console.error("unexpected", c.req.method, path, c.get("requestId"), error);
  return problem(c, { code: "INTERNAL", detail: "An unexpected error was logged under this request id" });
}

/** For an answer that has begun: what was refused says why, of anything else only that it was logged. */
export function failureOf(error: unknown, ...where: string[]): Failure {
  if (error instanceof SandbarError) return error.failure;
  console.error("unexpected", ...where, error);
  return { code: "INTERNAL", detail: "An unexpected error was logged" };
}

/** For the validators: which fields are wrong, and how. */
export function validationFailure(error: z.core.$ZodError): Failure {
  const errors = error.issues.slice(0, 20).map((issue) => ({
    path: issue.path.map(String).join(".").slice(0, 200),
    message: issue.message.slice(0, 500),
  }));
  const first = errors[0];
  const detail = first
    ? first.path
      ? `${first.path}: ${first.message}`
      : first.message
    : "The request is not valid";
  return { code: "VALIDATION_FAILED", detail, errors };
}

/** @module Refusals that an agent can act on become text for the model; the others are for the developer. */
import { SandbarError } from "../errors.ts";

/** Wrong key, wrong scope, wrong session options, no server: no model can mend these. */
const FOR_THE_DEVELOPER = new Set<string>([
  "UNAUTHENTICATED",
  "FORBIDDEN",
  "NETWORK_ERROR",
  "UNEXPECTED_ANSWER",
  "SESSION_KEY_CONFLICT",
  "DATASETS_DISABLED",
  "IMAGE_NOT_ALLOWED",
  "IMAGE_NOT_FOUND",
  "IMAGE_UNSUPPORTED",
  "LIMIT_EXCEEDED",
]);

export interface ToolFailure {
  error: { code: string; detail: string; retryable: boolean };
}

export async function orFailure<C, A>(work: () => Promise<[C, A]>): Promise<[C | string, A | ToolFailure]> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof SandbarError) || FOR_THE_DEVELOPER.has(error.code)) throw error;
    const lines = [
      error.message,
      ...error.errors.map(({ path, message }) => `${path}: ${message}`),
      ...(error.hint ? [error.hint] : []),
      ...(error.retryable ? ["Trying again later may help."] : []),
    ];
    const detail = error.message;
    return [lines.join("\n"), { error: { code: error.code, detail, retryable: error.retryable } }];
  }
}

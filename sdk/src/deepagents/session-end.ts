/** @module Which answers say that the session is over: refusals, and records of what ended with it. */
import { SandbarError } from "../errors.ts";
import type { ExecutionRecord } from "../execution.ts";

const ENDS = new Set(["SESSION_ENDED", "SESSION_STOPPED", "CONTAINER_DIED", "HOST_LOST"]);

export function saysSessionEnded(error: unknown): boolean {
  return error instanceof SandbarError && (ENDS.has(error.code) || isMissingSession(error));
}

/** A missing file answers NOT_FOUND, too. */
export function isMissingSession({ message }: SandbarError): boolean {
  return /^NOT_FOUND: (No such session|this host does not have the session)$/.test(message);
}

/** Files are lost only with the session. Where they outlive it, or none were, the error says so; that of `error` is the code's own. */
export function endedWithSession({ status, error, state }: ExecutionRecord): boolean {
  return state.files === "lost" || (status !== "error" && ENDS.has(error?.name ?? ""));
}

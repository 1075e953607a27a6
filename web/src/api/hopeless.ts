import { SandbarError } from "@sandbar/sdk";

/** Whether trying the same again cannot help: the caller is wrong, or what it wants is gone. */
export function isHopeless(error: unknown): boolean {
  if (!(error instanceof SandbarError)) return true;
  return !error.retryable && error.status >= 400 && error.status < 500;
}

/** @module Exit codes, after the conventions of shells and `timeout`. */
import type { ExecutionRecord } from "@sandbar/sdk";

export const EXIT = {
  ok: 0,
  error: 1,
  usage: 2,
  /** Code waits for a human's word. */
  waiting: 3,
  timeout: 124,
  /** Sandbar itself, or the way to it, failed. */
  failed: 125,
  interrupted: 130,
  died: 137,
  unknown: 126,
} as const;

/** A shell command's own code passes through; everything else has a code of its own. */
export function exitCodeOf(execution: Pick<ExecutionRecord, "status" | "exit_code">): number {
  switch (execution.status) {
    case "ok":
      return execution.exit_code ?? EXIT.ok;
    case "error":
      return execution.exit_code || EXIT.error;
    case "timeout":
      return EXIT.timeout;
    case "interrupted":
      return EXIT.interrupted;
    case "died":
      return EXIT.died;
    default:
      return EXIT.unknown;
  }
}

/** @module Which code of the error table an ended execution is counted under. */
import { ERRORS, type ErrorCode } from "../errors.ts";
import type { Execution, ExecutionStatus } from "./execution.ts";

const BY_STATUS: Partial<Record<ExecutionStatus, ErrorCode | "EXECUTION_ERROR">> = {
  error: "EXECUTION_ERROR",
  timeout: "EXECUTION_TIMEOUT",
  interrupted: "INTERRUPTED",
  died: "KERNEL_DIED",
  unknown: "OUTCOME_UNKNOWN",
};

/** Exceptions have whatever names the code gave them; other endings have one of the error table. */
export function errorCode({
  status,
  error,
}: Pick<Execution, "status" | "error">): ErrorCode | "EXECUTION_ERROR" | null {
  const usual = BY_STATUS[status] ?? null;
  if (status === "ok" || status === "error" || !error) return usual;
  return Object.hasOwn(ERRORS, error.name) ? (error.name as ErrorCode) : usual;
}

/**
 * What Durable Object methods return: RPC drops the fields of thrown errors, so a refusal is a value.
 *
 * @module
 */
import { ERRORS, type ErrorCode, type Failure, SandbarError } from "@sandbar/shared";

export type Refusal = { failure: Failure };
export type Answer<T> = { value: T } | Refusal;

export const ok = <T>(value: T): { value: T } => ({ value });

export function refuse(code: ErrorCode, detail?: string, extra?: Partial<Failure>): Refusal {
  return { failure: { code, detail: detail ?? ERRORS[code].title, ...extra } };
}

export function unwrap<T>(answer: Answer<T>): T {
  if ("failure" in answer) throw new SandbarError(answer.failure.code, answer.failure.detail, answer.failure);
  return answer.value;
}

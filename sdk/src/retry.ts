/** @module When and how long to wait before the same request is sent again. */
import { SandbarError } from "./errors.ts";

export interface RetryPolicy {
  /** Tries in all, the first one included. */
  attempts: number;
  baseMs: number;
  maxMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = { attempts: 4, baseMs: 200, maxMs: 5_000 };

/** A server that asks for more patience than this gets its error passed on to the caller. */
const RETRY_AFTER_MAX_S = 30;

/** Full jitter: many clients that were cut at once do not come back at once. */
export function backoffMs(attempt: number, policy: RetryPolicy, random: () => number = Math.random): number {
  return Math.round(Math.min(policy.maxMs, policy.baseMs * 2 ** attempt) * (0.5 + random() / 2));
}

/** Milliseconds until the next try, or null when there should be none. `attempt` counts from 0. */
export function retryDelayMs(
  error: unknown,
  attempt: number,
  policy: RetryPolicy,
  random: () => number = Math.random,
): number | null {
  if (!(error instanceof SandbarError) || !isTransient(error)) return null;
  if (attempt + 1 >= policy.attempts) return null;
  if (error.retryAfterS === undefined) return backoffMs(attempt, policy, random);
  if (error.retryAfterS > RETRY_AFTER_MAX_S) return null;
  return Math.round(error.retryAfterS * 1000 + random() * policy.baseMs);
}

/** No answer, a gateway's answer, or a server that named the moment to come back. */
export function isTransient(error: SandbarError): boolean {
  if (error.code === "NETWORK_ERROR") return true;
  if (error.status === 429) return error.retryable && error.retryAfterS !== undefined;
  return error.retryable && [502, 503, 504].includes(error.status);
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const onAbort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

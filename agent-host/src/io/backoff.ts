/** @module How long to wait before the next attempt: twice as long each time, with jitter, so that many do not come at once. */

export interface Backoff {
  readonly firstMs: number;
  readonly lastMs: number;
}

const USUAL: Backoff = { firstMs: 100, lastMs: 10_000 };

/** `attempt` counts from zero. */
export function backoffMs(
  attempt: number,
  { firstMs, lastMs }: Backoff = USUAL,
  random: number = Math.random(),
): number {
  const full = Math.min(lastMs, firstMs * 2 ** Math.min(attempt, 20));
  return Math.round(full * (0.5 + random / 2));
}

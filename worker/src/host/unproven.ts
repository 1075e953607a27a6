/**
 * Sockets on a host's link that have not shown its key yet. Anybody who knows a host's id can open them, so there are
 * few, and who opens many loses their own: a daemon has time to prove itself, whoever else dials.
 *
 * @module
 */

export const UNPROVEN_LIMIT = 64;
/** A daemon proves itself within a round trip. */
const GRACE_MS = 2_000;

export interface UnprovenSocket {
  readonly network: string | null;
  readonly opened_at: number;
}

/** Who gives its place to one more: nobody while there is room; `none` when all are too young, so that one must wait. */
export function placeFor<T extends UnprovenSocket>(open: readonly T[], now: number): T | "free" | "none" {
  if (open.length < UNPROVEN_LIMIT) return "free";
  const crowd = new Map<string | null, number>();
  for (const { network } of open) crowd.set(network, (crowd.get(network) ?? 0) + 1);
  const old = open.filter(({ opened_at }) => now - opened_at >= GRACE_MS);
  old.sort((a, b) => crowd.get(b.network)! - crowd.get(a.network)! || a.opened_at - b.opened_at);
  return old[0] ?? "none";
}

/** @module Whether a report continues an execution's log. */
import type { KernelEvent, Outcome } from "@sandbar/shared";

export type Continuation =
  /** Events that are new, in order; `complete` when the outcome may be taken with them. */
  | { fresh: KernelEvent[]; complete: boolean }
  /** Something is missing: everything after this number must come again. */
  | { resend: number };

export function continueLog(
  lastSeq: number,
  events: readonly KernelEvent[],
  outcome: Pick<Outcome, "last_seq"> | null,
): Continuation {
  const fresh: KernelEvent[] = [];
  let last = lastSeq;
  for (const event of events) {
    if (event.seq <= last) continue;
    if (event.seq !== last + 1) return { resend: lastSeq };
    fresh.push(event);
    last = event.seq;
  }
  if (outcome?.last_seq != null && outcome.last_seq > last) {
    // What came is kept; the rest must come again, and the outcome with it.
    return fresh.length > 0 ? { fresh, complete: false } : { resend: last };
  }
  return { fresh, complete: outcome !== null };
}

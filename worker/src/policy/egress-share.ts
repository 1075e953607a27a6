/** @module How much a tenant's sessions may carry over their network in a day, in UTC. */

const DAY_MS = 24 * 3600_000;
/** Then it is asked anew whether the share is still spent: operators may have made it larger. */
const HOLD_MS = 5 * 60_000;

export interface Spent {
  /** Milliseconds since 1970. */
  readonly until: number;
  readonly reason: string;
}

export const startOfDay = (now: number) => now - (now % DAY_MS);

/** Null while something of it is left. */
export function spentShare(mbPerDay: number | null, bytes: number, now: number): Spent | null {
  if (mbPerDay === null || bytes < mbPerDay * 1024 * 1024) return null;
  return {
    until: Math.min(now + HOLD_MS, startOfDay(now) + DAY_MS),
    reason: `QUOTA_EXCEEDED: egress_mb_per_day, ${mbPerDay} MB of network a day (UTC) of this tenant, is used up`,
  };
}

/** @module Whether limits are within an operator's maxima, and possible at all. */
import type { Limits } from "./session.ts";

/** Why not, in words that name the maximum; null when they are fine. */
export function limitRefusal(limits: Limits, maxima: Partial<Limits>): string | null {
  for (const [name, most] of Object.entries(maxima) as [keyof Limits, number | undefined][])
    if (most !== undefined && limits[name] > most)
      return `limits.${name} may be at most ${most} on this host`;
  const half = Math.floor(limits.memory_mb / 2);
  if (limits.tmpfs_mb > half)
    return `limits.tmpfs_mb may be at most ${half}: files in memory count against limits.memory_mb (${limits.memory_mb}), and may take half of it`;
  return null;
}

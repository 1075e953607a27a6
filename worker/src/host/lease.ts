/** @module What silence makes of a host. */
import type { LeaseTimes } from "../env.ts";

export type LeaseStatus = "joining" | "online" | "unreachable" | "lost";

export interface Lease {
  readonly status: LeaseStatus;
  /** When to look again; null when silence changes nothing more. */
  readonly checkAt: number | null;
}

export function lease(status: LeaseStatus, lastSeen: number, now: number, times: LeaseTimes): Lease {
  // A host that never said hello has no sessions, and a lost one comes back only by a hello.
  if (status === "joining" || status === "lost") return { status, checkAt: null };
  const silence = now - lastSeen;
  if (silence >= times.lost) return { status: "lost", checkAt: null };
  // Heartbeats do not wake the object, so it looks for them to come back.
  if (silence >= times.unreachable)
    return { status: "unreachable", checkAt: Math.min(lastSeen + times.lost, now + times.heartbeat) };
  return { status: "online", checkAt: lastSeen + times.unreachable };
}

/** @module The life of a session as a pure function: which state follows which event. */
import type { ErrorCode, SessionStatus } from "@sandbar/shared";

/** What is stored. `busy` is `ready` with executions that have not ended. */
export type LifeState = Exclude<SessionStatus, "busy">;

export type LifeEvent = "ready" | "failed" | "died" | "stop" | "stopped" | "lost";

const TRANSITIONS: Record<LifeState, Partial<Record<LifeEvent, LifeState>>> = {
  creating: {
    ready: "ready",
    failed: "failed",
    died: "failed",
    stop: "stopping",
    stopped: "stopped",
    lost: "lost",
  },
  ready: { failed: "failed", died: "failed", stop: "stopping", stopped: "stopped", lost: "lost" },
  // Whoever asked for the end gets it, whichever way it came.
  stopping: { failed: "stopped", died: "stopped", stopped: "stopped", lost: "stopped" },
  stopped: {},
  failed: {},
  lost: {},
};

/** The next state, or null when the event changes nothing. */
export function transition(state: LifeState, event: LifeEvent): LifeState | null {
  return TRANSITIONS[state][event] ?? null;
}

export function hasEnded(state: LifeState): boolean {
  return state === "stopped" || state === "failed" || state === "lost";
}

/** Why an execution cannot be accepted in this state, or null. */
export function refusalToRun(state: LifeState): ErrorCode | null {
  if (state === "creating") return "SESSION_NOT_READY";
  return state === "ready" ? null : "SESSION_ENDED";
}

export interface Deadlines {
  readonly created_at: number;
  readonly last_used_at: number;
  readonly idle_ttl_s: number;
  readonly max_lifetime_s: number;
}

/** When the session ends by itself if nobody uses it. */
export function expiresAt(times: Deadlines): number {
  return Math.min(
    times.last_used_at + times.idle_ttl_s * 1000,
    times.created_at + times.max_lifetime_s * 1000,
  );
}

export const TOUCH_MAX_MS = 60_000;

/** How often whatever uses a session for long has to say so. */
export function touchMs({ idle_ttl_s }: Pick<Deadlines, "idle_ttl_s">): number {
  return Math.min(TOUCH_MAX_MS, idle_ttl_s * 500);
}

/** Why a ready session must stop now, or null. A running execution counts as use, but not against the lifetime. */
export function reasonToStop(times: Deadlines, busy: boolean, now: number): "lifetime" | "idle" | null {
  if (now >= times.created_at + times.max_lifetime_s * 1000) return "lifetime";
  if (!busy && now >= times.last_used_at + times.idle_ttl_s * 1000) return "idle";
  return null;
}

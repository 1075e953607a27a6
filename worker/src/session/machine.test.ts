import { describe, expect, it } from "vitest";
import {
  expiresAt,
  hasEnded,
  type LifeEvent,
  type LifeState,
  reasonToStop,
  refusalToRun,
  transition,
} from "./machine.ts";

const STATES: LifeState[] = ["creating", "ready", "stopping", "stopped", "lost", "failed"];
const EVENTS: LifeEvent[] = ["ready", "failed", "died", "stop", "stopped", "lost"];

describe("the life of a session", () => {
  it("never leaves an end", () => {
    for (const state of STATES.filter(hasEnded))
      for (const event of EVENTS) expect(transition(state, event)).toBeNull();
  });

  it("reaches an end from every other state by whatever the host can report", () => {
    for (const state of STATES.filter((state) => !hasEnded(state)))
      for (const event of ["failed", "died", "stopped", "lost"] as const)
        expect(hasEnded(transition(state, event)!)).toBe(true);
  });

  it("ends as stopped when somebody asked for the end, whichever way it came", () => {
    for (const event of ["failed", "died", "stopped", "lost"] as const)
      expect(transition("stopping", event)).toBe("stopped");
  });

  it("is not made ready again by a late report", () => {
    expect(transition("creating", "ready")).toBe("ready");
    expect(transition("ready", "ready")).toBeNull();
    expect(transition("stopping", "ready")).toBeNull();
  });

  it("takes executions only when ready", () => {
    expect(STATES.map(refusalToRun)).toEqual([
      "SESSION_NOT_READY",
      null,
      "SESSION_ENDED",
      "SESSION_ENDED",
      "SESSION_ENDED",
      "SESSION_ENDED",
    ]);
  });
});

describe("deadlines", () => {
  const times = { created_at: 0, last_used_at: 50_000, idle_ttl_s: 60, max_lifetime_s: 100 };

  it("are the earlier of idle time and lifetime", () => {
    expect(expiresAt(times)).toBe(100_000);
    expect(expiresAt({ ...times, last_used_at: 10_000 })).toBe(70_000);
  });

  it("spare a busy session from idleness, not from its lifetime", () => {
    const idle = { ...times, last_used_at: 0 };
    expect(reasonToStop(idle, false, 59_999)).toBeNull();
    expect(reasonToStop(idle, false, 60_000)).toBe("idle");
    expect(reasonToStop(idle, true, 60_000)).toBeNull();
    expect(reasonToStop(idle, true, 100_000)).toBe("lifetime");
  });
});

import { clsx } from "clsx";
import type { Tone } from "./badge.tsx";

const COLOURS: Record<Tone, string> = {
  neutral: "bg-faint",
  accent: "bg-accent",
  ok: "bg-ok",
  warn: "bg-warn",
  danger: "bg-danger",
};

/** What each state of a session, execution, host or process looks like. One table, so that a colour means one thing. */
const STATES: Record<string, { tone: Tone; moving?: boolean; hollow?: boolean }> = {
  creating: { tone: "accent", moving: true },
  ready: { tone: "ok" },
  busy: { tone: "accent", moving: true },
  stopping: { tone: "neutral", moving: true },
  stopped: { tone: "neutral", hollow: true },
  failed: { tone: "danger" },
  lost: { tone: "danger", hollow: true },
  queued: { tone: "neutral", moving: true },
  running: { tone: "accent", moving: true },
  ok: { tone: "ok" },
  error: { tone: "danger" },
  timeout: { tone: "warn" },
  interrupted: { tone: "warn", hollow: true },
  died: { tone: "danger" },
  unknown: { tone: "warn" },
  joining: { tone: "accent", moving: true },
  online: { tone: "ok" },
  unreachable: { tone: "warn" },
  exited: { tone: "neutral", hollow: true },
};

export function toneOf(state: string): Tone {
  return STATES[state]?.tone ?? "neutral";
}

/** A dot and the word: colour alone tells nothing to many. */
export function StateDot({ state, label, className }: { state: string; label?: string; className?: string }) {
  const { tone, moving, hollow } = STATES[state] ?? { tone: "neutral" as const };
  return (
    <span className={clsx("inline-flex items-center gap-2 whitespace-nowrap", className)}>
      <span
        aria-hidden
        className={clsx(
          "size-2 shrink-0 rounded-full",
          hollow ? "border-[1.5px] border-current opacity-80" : COLOURS[tone],
          hollow &&
            {
              neutral: "text-faint",
              accent: "text-accent",
              ok: "text-ok",
              warn: "text-warn",
              danger: "text-danger",
            }[tone],
          moving && "animate-pulse-soft",
        )}
      />
      {label ?? state}
    </span>
  );
}

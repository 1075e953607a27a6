/** @module Builds the Execution that callers see, from the journal's row and the kernel's events. */
import {
  ERRORS,
  type ErrorCode,
  type Execution,
  type ExecutionStatus,
  foldEvents,
  type KernelEvent,
  type Language,
  type Outcome,
  type Survival,
} from "@sandbar/shared";

export interface ExecutionFacts {
  readonly id: string;
  readonly session_id: string;
  readonly context: string;
  readonly language: Language;
  readonly queued_at: number;
  readonly started_at: number | null;
  readonly created_by: string | null;
}

export function finishedExecution(
  facts: ExecutionFacts,
  events: Iterable<KernelEvent>,
  outcome: Outcome,
): Execution {
  const started = outcome.started_at ?? facts.started_at;
  return {
    ...base(facts, events, outcome.status, outcome),
    exit_code: outcome.exit_code,
    artifacts: outcome.artifacts,
    artifacts_skipped: outcome.artifacts_skipped,
    state: outcome.state,
    started_at: time(started),
    finished_at: time(outcome.finished_at),
    duration_ms: started === null ? null : Math.max(0, outcome.finished_at - started),
  };
}

export function openExecution(
  facts: ExecutionFacts,
  events: Iterable<KernelEvent>,
  status: "queued" | "running",
): Execution {
  return base(facts, events, status, null);
}

function base(
  facts: ExecutionFacts,
  events: Iterable<KernelEvent>,
  status: ExecutionStatus,
  outcome: Outcome | null,
): Execution {
  const folded = foldEvents(events, outcome);
  return {
    id: facts.id,
    session_id: facts.session_id,
    context: facts.context,
    language: facts.language,
    status,
    ...folded,
    artifacts: [],
    artifacts_skipped: [],
    state: { variables: "kept", files: "kept" },
    created_by: facts.created_by,
    queued_at: new Date(facts.queued_at).toISOString(),
    started_at: time(facts.started_at),
    finished_at: null,
    duration_ms: null,
  };
}

/** An ending that the control plane decides, because no host will. */
export function ownOutcome(
  status: Outcome["status"],
  code: ErrorCode,
  detail: string | null,
  state: Survival,
  now: number,
): Outcome {
  return {
    status,
    error: { name: code, value: detail ?? ERRORS[code].title, traceback: "" },
    exit_code: null,
    totals: null,
    state,
    started_at: null,
    finished_at: now,
    last_seq: null,
    artifacts: [],
    artifacts_skipped: [],
  };
}

const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());

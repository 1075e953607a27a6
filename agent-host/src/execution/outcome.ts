/**
 * How an execution ended: what the guest said, judged by what the daemon had asked for.
 * The guest's word alone never makes a timeout, an interrupt or a kept variable.
 *
 * @module
 */
import { constants } from "node:os";
import type {
  ErrorCode,
  ExecutionError,
  Exit,
  GuestEvent,
  Lost,
  Outcome,
  SessionSpec,
  Survival,
} from "@sandbar/shared";
import { signalReason } from "../host/signal-reason.ts";
import type { Asked } from "../journal/journal.ts";

export type Done = Extract<GuestEvent, { type: "done" }>;

export interface Ending {
  readonly asked: Asked;
  /** The daemon had the kernel's processes killed. */
  readonly killed: boolean;
  readonly timeoutMs: number;
  readonly storage: SessionSpec["storage"];
  readonly startedAt: number | null;
  readonly finishedAt: number;
}

const KEPT: Survival = { variables: "kept", files: "kept" };
const VARIABLES_LOST: Survival = { variables: "lost", files: "kept" };

export function outcomeOfDone(done: Done, ending: Ending): Outcome {
  const died = done.status === "died";
  const { status, error } = judge(done, ending);
  return {
    ...base(ending),
    artifacts_skipped: done.artifacts_skipped,
    status,
    error,
    exit_code: done.exit_code,
    totals: done.totals,
    state: { ...(died ? VARIABLES_LOST : KEPT), ...(done.lost && lostBefore(done.lost)) },
    // `done` itself is not forwarded, so the log above it is complete at the number before.
    last_seq: done.seq - 1,
  };
}

function lostBefore(lost: Lost): Partial<Survival> {
  return { variables: "lost", reason: lossReason(lost), lost_at: new Date(lost.at).toISOString() };
}

/** Why variables are gone that no execution took with it. */
export function lossReason({ exit, detail }: Lost): string {
  if (detail) return detail;
  const how = exit?.oom ? `it ${outOfMemory(exit)}` : exitReason(exit);
  return `the kernel ended while no code ran in it: ${how}`;
}

function outOfMemory(exit: Exit): string {
  return exit.signal === constants.signals.SIGKILL
    ? "was killed for using more memory than the session has"
    : "ended because its heap was full, which the language's runtime sizes by the session's memory";
}

function judge(done: Done, ending: Ending): Pick<Outcome, "status" | "error"> {
  const died = done.status === "died";
  // The kernel ran out of memory before anything the daemon asked for could end it.
  if (died && done.exit?.oom && !ending.killed)
    return {
      status: "died",
      error: tableError("OOM_KILLED", `the kernel ${outOfMemory(done.exit)}`),
    };
  switch (ending.asked) {
    case "timeout":
      return { status: "timeout", error: timeoutError(ending.timeoutMs, died ? "killed" : "interrupted") };
    case "interrupt":
      if (died)
        return {
          status: "interrupted",
          error: tableError("INTERRUPTED", "the code did not yield to the interrupt and was killed"),
        };
      if (done.status === "interrupted")
        return { status: "interrupted", error: tableError("INTERRUPTED", "the code was interrupted") };
      return { status: done.status as "ok" | "error", error: null };
    case "start":
      return { status: "died", error: tableError("KERNEL_DIED", "the kernel did not take the code in time") };
    case "restart":
    case "close":
      if (!died) return own(done);
      return {
        status: "died",
        error: tableError(
          "KERNEL_DIED",
          `the context was ${ending.asked === "close" ? "closed" : "restarted"}`,
        ),
      };
    default:
      if (!died) return own(done);
      return { status: "died", error: deathError(done, ending) };
  }
}

/** A kernel that could not even start has one cause; for one that ran, what was missing is only likely. */
function deathError({ exit, shortage }: Done, { startedAt }: Ending): ExecutionError {
  if (!shortage) return tableError("KERNEL_DIED", exitReason(exit));
  if (startedAt === null) return tableError(shortage.code, `no kernel could be started: ${shortage.detail}`);
  return tableError("KERNEL_DIED", `${exitReason(exit)}; ${shortage.detail}`);
}

function own(done: Done): Pick<Outcome, "status" | "error"> {
  return { status: done.status as "ok" | "error" | "interrupted", error: null };
}

/** The box, and with it the guest, is gone: nobody can say how many events there were. */
export function outcomeOfBoxDeath(reason: string, ending: Ending): Outcome {
  const state: Survival = { variables: "lost", files: ending.storage === "BIND" ? "kept" : "lost" };
  const gone = { ...base(ending), exit_code: null, totals: null, state, last_seq: null };
  switch (ending.asked) {
    case "timeout":
      return {
        ...gone,
        status: "timeout",
        error: timeoutError(ending.timeoutMs, "ended with its container"),
      };
    case "interrupt":
      return {
        ...gone,
        status: "interrupted",
        error: tableError("INTERRUPTED", "the code was ended with its container"),
      };
    case "stop":
      return { ...gone, status: "died", error: tableError("SESSION_STOPPED", reason) };
    default:
      return { ...gone, status: "died", error: tableError("CONTAINER_DIED", reason) };
  }
}

/** The code never reached a kernel. */
export function outcomeOfUnstarted(
  status: "interrupted" | "died" | "error",
  code: ErrorCode,
  detail: string,
  finishedAt: number,
): Outcome {
  return {
    status,
    error: tableError(code, detail),
    exit_code: null,
    totals: null,
    state: KEPT,
    started_at: null,
    finished_at: finishedAt,
    last_seq: 0,
    artifacts: [],
    artifacts_skipped: [],
  };
}

/** The guest has no memory of code that had started. */
export function outcomeUnknown(ending: Ending): Outcome {
  return {
    ...base(ending),
    status: "unknown",
    error: tableError("OUTCOME_UNKNOWN", "the sandbox lost track of the code"),
    exit_code: null,
    totals: null,
    state: VARIABLES_LOST,
    last_seq: null,
  };
}

function exitReason(exit: Exit | null): string {
  if (exit?.signal != null) return signalReason(exit.signal);
  if (exit?.exit_code != null) return `exit code ${exit.exit_code}`;
  return "the kernel ended without a reason";
}

export function tableError(name: ErrorCode, value: string): ExecutionError {
  return { name, value, traceback: "" };
}

function timeoutError(timeoutMs: number, how: string): ExecutionError {
  return tableError("EXECUTION_TIMEOUT", `the code ran longer than ${timeoutMs / 1000} s and was ${how}`);
}

function base(ending: Ending) {
  return {
    started_at: ending.startedAt,
    finished_at: ending.finishedAt,
    artifacts: [],
    artifacts_skipped: [],
  };
}

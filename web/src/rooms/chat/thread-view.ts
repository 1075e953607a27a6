/** @module What is known of a thread that is open, and what of it is shown. */
import type {
  CheckpointPoint,
  Interrupt,
  ThreadMessage as Message,
  RunError,
  RunRecord,
  ThreadRecord,
} from "@sandbar/sdk";
import type { Entry } from "../notebook/entry.ts";
import type { RunView } from "./fold.ts";
import { isUnfinished } from "./messages.ts";

/** A question that this page has sent; shown until the thread has it. */
export interface Sent {
  readonly message: Message;
  /** Null until the server has taken it. */
  readonly runId: string | null;
}

export interface ThreadView {
  readonly state: "loading" | "ready" | "missing" | "failed";
  readonly failure: unknown;
  readonly thread: ThreadRecord | null;
  /** Of the branch that is shown, when nothing runs. */
  readonly messages: readonly Message[];
  readonly points: readonly CheckpointPoint[];
  /** The end of the branch that is shown; null for the newest. */
  readonly branch: string | null;
  /** Newest first. */
  readonly runs: readonly RunRecord[];
  /** The run that is followed, or was last. */
  readonly run: RunView | null;
  readonly following: boolean;
  /** What code has put out, by the id of its call. */
  readonly outputs: Readonly<Record<string, Entry>>;
  readonly sent: readonly Sent[];
}

export const UNKNOWN_THREAD: ThreadView = {
  ...{ state: "loading", failure: null, thread: null, messages: [], points: [], branch: null, runs: [] },
  ...{ run: null, following: false, outputs: {}, sent: [] },
};

export function shownMessages(view: ThreadView): readonly Message[] {
  const { following, run, messages, branch } = view;
  const known = following && run?.messages ? run.messages : messages;
  const ids = new Set(known.map(({ id }) => id));
  const asked = view.sent
    .filter(({ message, runId }) => !ids.has(message.id) && !waitsBehind(view, runId))
    .map(({ message }) => message);
  const said = following ? (run?.said ?? []) : branch === null ? brokenOff(view) : [];
  // The thread was read when the run had come further than its events that were heard.
  const new_ = run?.messages ? said : said.filter(({ id }) => !ids.has(id));
  return [...known, ...asked, ...new_];
}

/** What was being said when the run was stopped or failed: in no state, but it was read. */
function brokenOff({ run, runs }: ThreadView): readonly Message[] {
  const status = runs.find(({ run_id }) => run_id === run?.runId)?.status;
  if (status !== "interrupted" && status !== "error") return [];
  return (run?.said ?? []).filter(({ type }) => type === "AIMessageChunk");
}

const waitsBehind = ({ runs, run }: ThreadView, runId: string | null) =>
  runs.some(({ run_id, status }) => run_id === runId && status === "pending" && run_id !== run?.runId);

export interface Waiting {
  readonly runId: string;
  readonly message: Message | null;
}

/** Questions whose turn has not come, oldest first. */
export function waitingRuns(view: ThreadView): Waiting[] {
  return view.runs
    .filter(({ run_id, status }) => status === "pending" && run_id !== view.run?.runId)
    .map(({ run_id, kwargs }) => ({ runId: run_id, message: kwargs?.input?.messages?.at(-1) ?? null }))
    .reverse();
}

export const isRunning = ({ following, runs, sent }: ThreadView): boolean =>
  (following && runs.some(isUnfinished)) || sent.some(({ runId }) => runId === null);

/** What a human is asked for now. */
export function openInterrupt(view: ThreadView): Interrupt | null {
  if (view.following || view.branch !== null) return null;
  const asked = Object.values(view.thread?.interrupts ?? {}).flat();
  return asked.find(({ value }) => value?.actionRequests?.length) ?? null;
}

/** Why the last run failed. */
export function failureOf({ following, branch, runs, run }: ThreadView): RunError | null {
  if (following) return run?.error ?? null;
  const newest = runs.find((each) => !isUnfinished(each));
  return branch === null && newest?.status === "error" ? (newest.error ?? null) : null;
}

/** @module The executions of one session: accepting, queueing, reporting, ending. */
import {
  type Cause,
  type CreateExecution,
  type ErrorCode,
  type Execution,
  type KernelEvent,
  type Loss,
  type Outcome,
  QUEUE_LIMIT,
  type Survival,
} from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import type { Env } from "../env.ts";
import type { PromptReport } from "../host/prompt-reports.ts";
import { beginStep, type Step } from "../traces.ts";
import type { Alarm } from "./alarm.ts";
import { resolveContext } from "./contexts.ts";
import { continueLog } from "./continuation.ts";
import { type CausedExecution, type Envelope, runEnvelope } from "./envelope.ts";
import { finishedExecution, openExecution, ownOutcome } from "./execution-record.ts";
import type { GivenRuns } from "./given-runs.ts";
import type { ExecutionRow, Journal } from "./journal.ts";
import { expiresAt, refusalToRun } from "./machine.ts";
import type { News } from "./news.ts";
import type { Outgoing } from "./outgoing.ts";
import type { Records, SessionRecord } from "./record.ts";
import { SESSION_TOPIC, type Signal } from "./signal.ts";

/** A command travels in one frame and rests in one row. */
export const COMMAND_LIMIT_BYTES = 1_500_000;
const USAGE_MIRROR_MS = 60_000;
const PRUNE_EVERY = 64;
const PRUNE_ABOVE_BYTES = 1024 * 1024;
const KEEP = { logBytes: 64 * 1024 * 1024, logs: 1_000, records: 10_000 };
const LOST: Survival = { variables: "lost", files: "lost" };
const KEPT: Survival = { variables: "kept", files: "kept" };

export interface Submission {
  readonly execution: string;
  readonly request: CreateExecution;
  readonly idempotency_key: string | null;
  /** Of the request, so that one key cannot mean two of them. */
  readonly digest: string;
  /** The key or token. */
  readonly created_by: string | null;
  readonly cause?: Cause;
}

/** `next` is the run that the report made room for. */
export type ReportAnswer = ({ ack: number; final: boolean } | { resend: number }) & { next?: Envelope };

export interface ExecutionsParts {
  readonly env: Env;
  readonly records: Records;
  readonly journal: Journal;
  readonly runs: GivenRuns;
  readonly outgoing: Outgoing;
  readonly signal: Signal;
  readonly alarm: Alarm;
  readonly news: News;
}

export class Executions {
  readonly #records: Records;
  readonly #journal: Journal;
  readonly #runs: GivenRuns;
  readonly #outgoing: Outgoing;
  readonly #signal: Signal;
  readonly #alarm: Alarm;
  readonly #news: News;
  readonly #env: Env;
  /** By execution. */
  readonly #traced = new Map<string, Step>();
  #sincePrune = 0;

  constructor(parts: ExecutionsParts) {
    this.#records = parts.records;
    this.#journal = parts.journal;
    this.#runs = parts.runs;
    this.#outgoing = parts.outgoing;
    this.#signal = parts.signal;
    this.#alarm = parts.alarm;
    this.#news = parts.news;
    this.#env = parts.env;
  }

  /**
   * The execution's id: the given one, or that of the earlier request with the same key. A caller that is `waiting`
   * for the end makes the request again when this object is reset, so one without a key may wait in memory.
   */
  async submit(session: SessionRecord, submission: Submission, waiting = false): Promise<Answer<string>> {
    const { execution: id, idempotency_key, digest } = submission;
    const step = beginStep(this.#env, submission.cause);
    const request = { ...submission.request, ...(step.cause && { cause: step.cause }) };
    const prepared = this.#prepare(session, { ...submission, request });
    if ("value" in prepared) {
      const { context, fresh, run, row } = prepared.value;
      const inserted =
        waiting && row.state === "queued" && idempotency_key === null
          ? this.#journal.hold(row, request)
          : this.#journal.insert(row, idempotency_key, request);
      if (inserted) {
        if (fresh) this.#records.addContext(context);
        this.#records.use(row.queued_at);
        this.#news.accepted(id, request.code);
        if (step.cause?.traceparent !== undefined) this.#traced.set(id, step);
        return this.#runs.accept(id, this.#handOver(id, row.state === "sent" ? run : null, waiting));
      }
    }
    // What was accepted before is answered whatever the session's state is now.
    const known =
      this.#journal.find(id) ?? (idempotency_key === null ? null : this.#journal.findByKey(idempotency_key));
    if (!known) return "failure" in prepared ? prepared : refuse("INTERNAL");
    if (known.digest !== digest) return refuse("IDEMPOTENCY_CONFLICT");
    return (await this.#runs.accepting(known.id)) ?? ok(known.id);
  }

  #prepare(
    session: SessionRecord,
    { execution: id, request, digest, created_by }: Submission & { request: CausedExecution },
  ) {
    const refusal = refusalToRun(session.state);
    if (refusal) return refuse(refusal, endDetail(session, refusal));
    const { max_timeout_s } = session.spec;
    if (max_timeout_s !== undefined && request.timeout_s !== undefined && request.timeout_s > max_timeout_s)
      return refuse("FORBIDDEN_BY_POLICY", `timeout_s may be at most ${max_timeout_s} in this tenant`);
    const now = Date.now();
    const resolved = resolveContext(
      session,
      request,
      { find: (name) => this.#records.context(name), count: () => this.#records.contexts().length },
      now,
    );
    if ("failure" in resolved) return resolved;
    const { context, fresh } = resolved.value;
    const waiting = this.#journal.open(context.name).length;
    // One runs, the others wait.
    if (waiting > QUEUE_LIMIT)
      return refuse("QUEUE_FULL", `${QUEUE_LIMIT} executions wait in the context ${context.name}`, {
        retry_after_s: 1,
      });
    const state = waiting === 0 ? ("sent" as const) : ("queued" as const);
    const row = {
      id,
      context: context.name,
      language: context.language,
      state,
      digest,
      queued_at: now,
      created_by,
    };
    const run = runEnvelope(session, row, request);
    if (exceeds(JSON.stringify(run.command), COMMAND_LIMIT_BYTES))
      return refuse("PAYLOAD_TOO_LARGE", `Code, stdin and env together exceed ${COMMAND_LIMIT_BYTES} bytes`);
    return ok({ context, fresh, run, row });
  }

  /** Takes the row back when the host cannot be reached: nothing was sent, so a retry is a new request. */
  async #handOver(id: string, run: Envelope | null, prompt: boolean): Promise<Answer<string>> {
    let refusal: Answer<unknown> | null = null;
    try {
      if (run) {
        const sent = await this.#outgoing.send(run, { refusable: true, prompt });
        if ("failure" in sent) refusal = sent;
        else if (sent.value) await this.#answered(sent.value);
      } else if (!(await this.#outgoing.hostIsReachable()))
        refusal = refuse("HOST_UNREACHABLE", undefined, { retry_after_s: 5 });
    } catch (error) {
      // It is sent again; the caller's execution stands.
      console.error("run not handed over yet", id, run?.command.cause?.request, error);
      await this.#alarm.retrySoon();
    }
    const row = this.#journal.findOpen(id);
    if (refusal && "failure" in refusal && row?.last_seq === 0) {
      if (run === null && row.state !== "queued") return ok(id);
      this.#journal.remove(id);
      this.#traced.get(id)?.end("session: execution", { "sandbar.execution": id }, refusal.failure.code);
      this.#traced.delete(id);
      this.#news.refused(id);
      this.#pump(row.context);
      return refusal.failure.code === "NOT_FOUND" ? refuse("SESSION_ENDED") : refusal;
    }
    this.#news.began(id);
    return ok(id);
  }

  /** Sends what was marked as sent and never spoke; the host ignores what it has. */
  async redrive(): Promise<void> {
    // What is being accepted may be refused.
    await this.#runs.accepted();
    await Promise.all(this.#runs.silent().map((run) => this.#outgoing.send(run)));
  }

  /** The report came in the answer to the run. */
  async #answered({ execution, events, outcome }: PromptReport): Promise<void> {
    const { next, ...reply } = await this.report(execution, events, outcome);
    this.#outgoing.reply({ execution, ...reply });
    if (next) void this.#give(next);
  }

  async report(id: string, events: readonly KernelEvent[], outcome: Outcome | null): Promise<ReportAnswer> {
    this.#outgoing.heard();
    const row = this.#journal.find(id);
    const reported = Math.max(events.at(-1)?.seq ?? 0, outcome?.last_seq ?? 0);
    // A record that stands is never changed, and an execution that nobody remembers has no reader.
    if (!row) return { ack: reported, final: outcome !== null };
    if (row.state === "done") {
      // The answer that said so has not arrived, and with it perhaps the next run.
      const [next] = outcome === null ? [] : this.#runs.silent(row.context);
      return { ack: Math.max(row.last_seq, reported), final: outcome !== null, ...(next && { next }) };
    }
    const log = continueLog(row.last_seq, events, outcome);
    if ("resend" in log) return { resend: log.resend };
    const grown = log.fresh.length > 0 ? this.#journal.append(row, log.fresh, Date.now()) : row;
    if (!outcome || !log.complete) {
      if (grown !== row) this.#journal.saveProgress(grown);
      this.#signal.wake(id);
      return outcome ? { resend: grown.last_seq } : { ack: grown.last_seq, final: false };
    }
    // The whole log is often in this one report.
    this.#finish(grown, outcome, row.last_seq === 0 ? log.fresh : this.#journal.events(id));
    const next = this.#takeNext(row.context);
    await this.#ended(row.context, outcome.state);
    return { ack: grown.last_seq, final: true, ...(next && { next }) };
  }

  /** D1's counters may lag, but not for long; and while it ran nobody looked at the idle time. */
  async #ended(context: string, { reason, lost_at: at }: Survival): Promise<void> {
    if (reason && at) this.lost({ context, reason, at });
    const { spec, created_at } = this.#records.session!;
    const end = expiresAt({ ...spec, created_at, last_used_at: this.#records.activity.last_used_at });
    await this.#alarm.wakeAt(Math.min(end, Date.now() + USAGE_MIRROR_MS));
  }

  /** Once for each loss, whoever says it first: the host, or the execution that met it. */
  lost({ context, reason, at }: Loss): void {
    if (this.#records.logOnce("context.lost", { context, reason, at })) this.#signal.wake(SESSION_TOPIC);
  }

  async interrupt(id: string): Promise<Answer<null>> {
    const row = this.#journal.find(id);
    if (!row) return refuse("NOT_FOUND", "No such execution");
    if (row.state === "queued")
      this.#end(row, "interrupted", "INTERRUPTED", "It was interrupted before it ran", KEPT);
    else if (row.state === "sent") {
      const sent = await this.#outgoing.send({
        command: { type: "interrupt", execution: id },
        dedupe: `interrupt:${id}`,
      });
      if ("failure" in sent) return sent;
    }
    return ok(null);
  }

  /** Ends what waits in a context, or anywhere, and has not been sent. */
  endQueued(status: Outcome["status"], code: ErrorCode, state: Survival, context?: string): void {
    for (const row of this.#journal.open(context))
      if (row.state === "queued") this.#end(row, status, code, null, state);
  }

  /** Ends everything when the session has ended: no host will report any more. */
  endAll(
    ending: (row: ExecutionRow) => { status: Outcome["status"]; code: ErrorCode; detail?: string },
  ): void {
    for (const row of this.#journal.open()) {
      const { status, code, detail } = ending(row);
      this.#end(row, status, code, detail ?? null, LOST);
    }
  }

  describe(session: SessionRecord, row: ExecutionRow): Execution {
    if (row.state === "done") return this.#journal.record(row.id)!;
    return openExecution(
      { ...row, session_id: session.id },
      this.#journal.events(row.id),
      row.state === "sent" && row.last_seq > 0 ? "running" : "queued",
    );
  }

  /** The same with its code, for whoever reads what was run. */
  describeWithCode(session: SessionRecord, row: ExecutionRow): Execution {
    return { ...this.describe(session, row), code: this.#journal.code(row.id) };
  }

  #end(
    row: ExecutionRow,
    status: Outcome["status"],
    code: ErrorCode,
    detail: string | null,
    state: Survival,
  ): void {
    this.#finish(row, ownOutcome(status, code, detail, state, Date.now()), this.#journal.events(row.id));
  }

  #finish(row: ExecutionRow, outcome: Outcome, events: Iterable<KernelEvent>): void {
    const record = finishedExecution({ ...row, session_id: this.#records.session!.id }, events, outcome);
    this.#journal.finish(row, record);
    this.#records.touch(Date.now(), { duration_ms: record.duration_ms ?? 0, bytes: row.event_bytes });
    if (++this.#sincePrune >= PRUNE_EVERY || row.event_bytes > PRUNE_ABOVE_BYTES) {
      this.#sincePrune = 0;
      this.#journal.prune(KEEP);
    }
    this.#news.ended(record);
    this.#endStep(record);
    this.#signal.wake(row.id);
  }

  /** An object that was reset meanwhile has no step any more; the daemon's part of the trace is there all the same. */
  #endStep({ id, session_id, status }: Execution): void {
    const attributes = { "sandbar.session": session_id, "sandbar.execution": id, "sandbar.status": status };
    this.#traced.get(id)?.end("session: execution", attributes, status === "ok" ? undefined : status);
    this.#traced.delete(id);
  }

  /** Sends the next of a context, if none of it is on its way. */
  #pump(context: string): void {
    const next = this.#takeNext(context);
    if (next) void this.#give(next);
  }

  async #give(run: Envelope): Promise<void> {
    try {
      const sent = await this.#outgoing.send(run, { prompt: true });
      if ("value" in sent && sent.value) await this.#answered(sent.value);
    } catch (error) {
      console.error("run not handed over yet", run.dedupe, run.command.cause?.request, error);
      await this.#alarm.retrySoon();
    }
  }

  #takeNext(context: string): Envelope | null {
    for (;;) {
      const [next] = this.#journal.open(context);
      if (next?.state !== "queued" || this.#records.session?.state !== "ready") return null;
      const run = this.#runs.envelope(next);
      if (this.#journal.markSent(next)) {
        this.#news.began(next.id);
        return run;
      }
      this.#signal.wake(next.id);
    }
  }
}

/** Whether a text is longer in UTF-8 than `limit`; encodes it only when that is in doubt. */
export function exceeds(text: string, limit: number): boolean {
  if (text.length > limit) return true;
  return text.length * 3 > limit && new TextEncoder().encode(text).length > limit;
}

function endDetail(session: SessionRecord, code: ErrorCode): string {
  if (code === "SESSION_NOT_READY") return "The session is being created";
  return session.error ? `${session.state}: ${session.error.detail}` : `The session is ${session.state}`;
}

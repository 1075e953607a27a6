/**
 * One execution on its way: sent once, timed by the daemon's clock, interrupted, killed, judged, reported.
 * Output is never kept here: what the control plane has not acknowledged stays in the guest, which sends it again.
 *
 * @module
 */
import {
  type ArtifactEntry,
  type DaemonMessage,
  type GuestEvent,
  type KernelEvent,
  MIME_TOTAL_LIMIT,
  MIME_VALUE_LIMIT,
  type Outcome,
  type SessionSpec,
  STREAM_LIMIT_BYTES,
} from "@sandbar/shared";
import type { Ingested, Ledger } from "../artifacts/artifact-ingest.ts";
import type { Config } from "../host/config.ts";
import { forRequest } from "../host/log.ts";
import type { Asked, ExecutionRow, Journal } from "../journal/journal.ts";
import {
  type Done,
  type Ending,
  outcomeOfBoxDeath,
  outcomeOfDone,
  outcomeOfUnstarted,
  outcomeUnknown,
} from "./outcome.ts";
import { ReportBatch, reportFrames } from "./report.ts";
import type { ReportWindow } from "./report-window.ts";
import { Stages, type Watchers } from "./stages.ts";
import { EVENT_COUNT_LIMIT, StreamLimits } from "./stream-limits.ts";

/** Whole replays from the same event on after which the guest is taken to have lost it. */
const REPLAY_LIMIT = 5;
/** The last output waits for so long, to be told in one frame with the outcome when there is little to bring away. */
const SHORT_INGESTION_MS = 25;
/** How many times more a guest that is not listened to has the time to end a kernel. */
const UNHEARD_LOOKS = 12;
const MORE = { name: "", reason: "more files than one look finds: left for the next execution" };

export interface ExecutionHost {
  readonly config: Config;
  readonly journal: Journal;
  readonly storage: SessionSpec["storage"];
  readonly watchers: Watchers;
  toGuest(message: DaemonMessage): boolean;
  /** Resolves when the guest has said all that it was asked for before. */
  ping(): Promise<unknown>;
  toServer(text: string): boolean;
  readonly linked: boolean;
  readonly window: Pick<ReportWindow, "move" | "full">;
  /** The sandbox does not obey any more. */
  condemn(reason: string): void;
  /** Brings what the execution left behind to safety. */
  ingest(execution: string, entries: readonly ArtifactEntry[], ledger: Ledger): Promise<Ingested>;
  /** The context is free for its next execution. */
  onFinished(execution: Execution): void;
}

export class Execution {
  readonly row: ExecutionRow;
  readonly #host: ExecutionHost;
  readonly #limits = new StreamLimits();
  readonly #stages: Stages;
  readonly #batch: ReportBatch;
  /** What was reported and not acknowledged, with the last event of each report. */
  #onItsWay: { seq: number; chars: number }[] = [];
  #timer: NodeJS.Timeout | null = null;
  /** The run has been given to the guest as it is now connected. */
  #sent = false;
  /** Highest number heard from the guest; null when an earlier daemon heard the beginning. */
  #received: number | null;
  #forwarded: number | null;
  readonly #adopted: boolean;
  #acked = 0;
  #replayAsked = -1;
  /** Of an execution that has ended: where replays began and how many came whole, whether one is on its way, what was asked meanwhile. */
  #replays = { from: -1, count: 0 };
  #replaying = false;
  #lastReplay: symbol | null = null;
  #wanted: number | null = null;
  /** How it ended, while its artifacts are on their way. */
  #judged: Outcome | null = null;
  #ingesting: Promise<void> | null = null;

  constructor(row: ExecutionRow, host: ExecutionHost, adopted: boolean) {
    this.row = row;
    this.#host = host;
    this.#adopted = adopted;
    this.#stages = new Stages(host.watchers, row.command, adopted);
    this.#received = adopted ? null : 0;
    this.#forwarded = adopted ? null : 0;
    if (row.state === "ingesting") {
      this.#judged = row.outcome;
      row.outcome = null;
    }
    this.#batch = new ReportBatch((events, outcome) => {
      let chars = 0;
      for (const frame of reportFrames(row.session, row.id, events, outcome))
        if (host.toServer(frame)) chars += frame.length;
      this.#onItsWay.push({ seq: this.#forwarded ?? 0, chars });
      host.window.move(chars);
    });
  }

  get id(): string {
    return this.row.id;
  }

  get context(): string {
    return this.row.command.context;
  }

  get finished(): boolean {
    return this.row.outcome !== null;
  }

  /** Waits for its context, here. */
  get waiting(): boolean {
    return !this.finished && !this.#sent && !this.#judged;
  }

  /** Set while its artifacts are on their way. */
  get ingesting(): Promise<void> | null {
    return this.#ingesting;
  }

  start(): void {
    const max = this.#host.config.maxima.timeout_s;
    if (this.row.command.timeout_ms > max * 1000) {
      // Another limit than the one asked for would come as a surprise, hours later.
      const detail = `timeout_s: ${this.row.command.timeout_ms / 1000} is above this host's maximum of ${max}`;
      this.#finish(outcomeOfUnstarted("error", "LIMIT_EXCEEDED", detail, Date.now()));
      return;
    }
    const { execution, context, language, code, env, stdin } = this.row.command;
    this.#sent = this.#host.toGuest({
      type: "run",
      execution,
      context,
      language,
      code,
      env: { ...this.#stages.env, ...env },
      stdin,
      stream_limit: STREAM_LIMIT_BYTES,
      mime_value_limit: MIME_VALUE_LIMIT,
      mime_total_limit: MIME_TOTAL_LIMIT,
    });
    if (!this.#sent) return;
    this.#stages.end("queue");
    this.#arm(this.#host.config.startTimeoutMs, () => this.end("start"));
  }

  /** A guest has (re)connected and says what it knows of this execution. */
  onGuest(known: { last_seq: number } | undefined): void {
    this.#forgetReplays();
    if (!known) {
      // The run was lost on its way; `started` code that the guest forgot must not run again.
      this.#sent = false;
      this.#disarm();
      // What it does not know it cannot send again.
      if (this.row.outcome?.last_seq) this.#tellWithoutEvents(this.row.outcome);
      if (this.finished || this.#ingesting) return;
      if (this.#judged) {
        this.#finish(this.#judged);
        return;
      }
      if (this.row.state === "started") {
        this.#finish(outcomeUnknown(this.#ending()));
        return;
      }
      const { asked } = this.row;
      this.row.asked = "nothing";
      if (asked !== "nothing") this.end(asked);
      return;
    }
    this.#sent = true;
    this.#replay(this.#acked);
    if (this.finished || this.#judged) return;
    if (this.row.asked !== "nothing") {
      this.#escalate();
      return;
    }
    if (this.row.deadline !== null)
      this.#arm(Math.max(0, this.row.deadline - Date.now()), () => this.end("timeout"));
    else if (known.last_seq > 0) this.#started();
    else this.#arm(this.#host.config.startTimeoutMs, () => this.end("start"));
  }

  onGuestDown(): void {
    // Graces run only while the guest can hear; a guest that stays away is its session's to end.
    if (this.row.asked !== "nothing") this.#disarm();
  }

  onEvent(event: GuestEvent): void {
    if (this.#received !== null && event.seq > this.#received + 1) {
      if (this.#replayAsked !== this.#received) this.#replay(this.#received);
      this.#replayAsked = this.#received;
      return;
    }
    this.#received = Math.max(this.#received ?? 0, event.seq);
    if (event.seq > EVENT_COUNT_LIMIT) {
      this.#host.condemn("protocol violation: too many events");
      return;
    }
    if (event.type === "done") {
      this.#done(event);
      return;
    }
    if (this.row.state === "accepted" && !this.finished) this.#started();
    this.#forward(event);
  }

  /** Begins to end it; a second reason changes nothing, the first is what the outcome will name. */
  end(asked: Asked): void {
    if (this.finished || this.#judged || this.row.asked !== "nothing") return;
    if (this.waiting) {
      if (asked === "interrupt")
        this.#finish(
          outcomeOfUnstarted("interrupted", "INTERRUPTED", "interrupted before it started", Date.now()),
        );
      if (asked === "close")
        this.#finish(
          outcomeOfUnstarted("died", "KERNEL_DIED", "the context was closed before it started", Date.now()),
        );
      return;
    }
    this.row.asked = asked;
    this.#host.journal.executionAsked(this.id, asked, false);
    this.#escalate();
  }

  #escalate(): void {
    const { interruptGraceMs } = this.#host.config;
    const { asked, killed } = this.row;
    if (asked === "restart" || asked === "close") {
      // The context's own command kills the kernel.
      this.#expectDeath();
    } else if (asked === "start" || killed) this.#kill();
    else if (this.#host.toGuest({ type: "interrupt", execution: this.id }))
      this.#arm(interruptGraceMs, () => this.#kill());
  }

  #kill(): void {
    if (!this.#host.toGuest({ type: "kill", execution: this.id })) {
      this.#disarm();
      return;
    }
    this.row.killed = true;
    this.#host.journal.executionAsked(this.id, this.row.asked, true);
    this.#expectDeath();
  }

  /** While the session is not listened to, its guest cannot say that it obeyed. */
  #expectDeath(looks = UNHEARD_LOOKS): void {
    this.#arm(this.#host.config.killGraceMs, () => {
      if (this.#host.window.full && looks > 0) this.#expectDeath(looks - 1);
      else this.#host.condemn("a kernel could not be killed");
    });
  }

  /** The box is gone, or about to be; `stop` when that was wanted. */
  boxDied(reason: string, stopped: boolean): void {
    this.#disarm();
    if (this.row.outcome) {
      this.#batch.clear();
      if (this.#replaying) this.#tellWithoutEvents(this.row.outcome);
    } else if (this.#judged) this.#finish(this.#judged);
    else {
      const ending = this.#ending();
      this.#finish(outcomeOfBoxDeath(reason, { ...ending, asked: stopped ? "stop" : ending.asked }));
    }
    // Last: no acknowledgement comes here any more, also of what was just said.
    this.#arrived(Number.POSITIVE_INFINITY);
  }

  onWelcome(): void {
    this.#batch.clear();
    this.#arrived(Number.POSITIVE_INFINITY);
    this.#forgetReplays();
    this.#forwarded = this.#acked > 0 || !this.#adopted ? this.#acked : null;
    // With the events missing the control plane asks for them, and only then are they sent again.
    if (this.row.outcome) this.#report([], this.row.outcome);
    else if (this.#sent) this.#replay(this.#acked);
  }

  onAck(seq: number, final: boolean): void {
    this.#acked = Math.max(this.#acked, seq);
    this.#arrived(final ? Number.POSITIVE_INFINITY : seq);
    if (final) {
      if (this.row.outcome) this.#stages.told(this.row.outcome.status, this.row.outcome.status !== "ok");
      this.#disarm();
      this.#batch.clear();
      // The guest numbers its `done` too.
      seq = Math.max(seq, this.#received ?? 0, (this.row.outcome?.last_seq ?? 0) + 1);
      // Only then: a daemon that finds no outcome in its journal asks the guest for it.
      this.#host.journal.executionAcked(this.id, () => this.#ackToGuest(seq, true));
    } else this.#ackToGuest(seq, false);
  }

  #ackToGuest(seq: number, final: boolean): void {
    this.#host.toGuest({ type: "ack", execution: this.id, seq, final });
  }

  onResend(seq: number): void {
    const { outcome } = this.row;
    if (outcome?.last_seq === null) this.#report([], outcome);
    // Every frame after a gap is answered with this, and one replay will do for them all.
    else if (outcome && this.#replaying) this.#wanted = seq;
    else if (outcome) this.#replayToTheEnd(seq, outcome);
    else this.#replayAgain(seq);
  }

  #replayToTheEnd(seq: number, outcome: Outcome): void {
    const from = Math.max(seq, this.#acked);
    if (this.#replays.from !== from) this.#replays = { from, count: 0 };
    if (this.#replays.count >= REPLAY_LIMIT) this.#tellWithoutEvents(outcome);
    else {
      this.#replaying = this.#replayAgain(seq);
      if (this.#replaying) void this.#unlessForgotten();
    }
  }

  /** The guest answers in order: if this is answered before the replay has come to its end, there is none to come. */
  async #unlessForgotten(): Promise<void> {
    const replay = Symbol();
    this.#lastReplay = replay;
    try {
      await this.#host.ping();
    } catch {
      // It has gone, and says what it knows when it dials again.
      return;
    }
    const { outcome } = this.row;
    if (outcome && this.#replaying && this.#lastReplay === replay) this.#tellWithoutEvents(outcome);
  }

  #tellWithoutEvents(outcome: Outcome): void {
    this.#batch.clear();
    this.#forgetReplays();
    this.row.outcome = { ...outcome, last_seq: null };
    this.#host.journal.executionFinished(this.id, this.row.outcome);
    this.#report([], this.row.outcome);
  }

  #replayAgain(seq: number): boolean {
    this.#batch.clear();
    this.#arrived(Number.POSITIVE_INFINITY);
    // An acknowledgement may have overtaken this: what it covers is persisted there and gone from the guest.
    this.#forwarded = Math.max(seq, this.#acked);
    return this.#replay(this.#forwarded);
  }

  /** Reports up to this event are not on their way any more. */
  #arrived(seq: number): void {
    const still = this.#onItsWay.findIndex((report) => report.seq > seq);
    const gone = this.#onItsWay.splice(0, still < 0 ? this.#onItsWay.length : still);
    if (gone.length > 0) this.#host.window.move(-gone.reduce((sum, { chars }) => sum + chars, 0));
  }

  #replay(seq: number): boolean {
    return this.#host.toGuest({ type: "replay", execution: this.id, seq });
  }

  #forgetReplays(): void {
    this.#replaying = false;
    this.#wanted = null;
  }

  #started(): void {
    this.#stages.end("start");
    const now = Date.now();
    const timeout = this.row.command.timeout_ms;
    this.row.state = "started";
    this.row.started_at = now;
    this.row.deadline = now + timeout;
    this.#host.journal.executionStarted(this.id, now, this.row.deadline);
    if (this.row.asked === "nothing") this.#arm(timeout, () => this.end("timeout"));
  }

  #done(done: Done): void {
    if (!this.row.outcome) {
      if (!this.#judged) this.#stages.end("run");
      const outcome = this.#judged ?? outcomeOfDone(done, this.#ending());
      if (done.artifacts.length > 0)
        this.#ingesting ??= forRequest(this.row.command.cause?.request, () => this.#ingest(outcome, done));
      else this.#settle(outcome, true);
    }
    if (this.#host.linked && (this.#forwarded ?? done.seq - 1) === done.seq - 1) {
      if (this.row.outcome || !this.#ingesting) this.#batch.flush(this.row.outcome);
      else this.#batch.hold(SHORT_INGESTION_MS);
    }
    if (this.#replayAsked >= 0) this.#replayAsked = -1;
    const wanted = this.#wanted;
    if (this.#replaying) this.#replays.count++;
    this.#forgetReplays();
    if (wanted !== null) this.onResend(wanted);
  }

  /** The outcome stands from here on, but is told only with what became of the artifacts. */
  async #ingest(outcome: Outcome, { artifacts, artifacts_more }: Done): Promise<void> {
    this.#disarm();
    this.#judged = outcome;
    this.row.state = "ingesting";
    this.#host.journal.executionIngesting(this.id, outcome);
    const ingested = await this.#host.ingest(this.id, artifacts, {
      kept: outcome.artifacts,
      keep: (artifacts) => {
        this.#judged = { ...outcome, artifacts: [...artifacts] };
        if (!this.row.outcome) this.#host.journal.executionIngesting(this.id, this.#judged);
      },
    });
    this.#ingesting = null;
    this.#stages.end("artifacts");
    const artifacts_skipped = [...outcome.artifacts_skipped, ...ingested.artifacts_skipped];
    if (artifacts_more) artifacts_skipped.push(MORE);
    // The box may have died meanwhile.
    if (!this.row.outcome) this.#finish({ ...outcome, ...ingested, artifacts_skipped });
  }

  #forward(event: KernelEvent): void {
    const bounded = this.#limits.apply(event);
    if (!this.#host.linked) return;
    this.#forwarded ??= event.seq - 1;
    if (event.seq !== this.#forwarded + 1) return;
    this.#forwarded = event.seq;
    this.#batch.add(bounded);
  }

  #finish(outcome: Outcome): void {
    this.#settle(outcome);
    if (this.#host.linked) this.#batch.flush(outcome);
  }

  /** `kept`: the guest has it too, until it is acknowledged. */
  #settle(outcome: Outcome, kept = false): void {
    this.#disarm();
    this.row.outcome = outcome;
    this.row.state = "finished";
    if (kept) this.#host.journal.executionDone(this.id, outcome);
    else this.#host.journal.executionFinished(this.id, outcome);
    this.#host.onFinished(this);
  }

  #report(events: string[], outcome: Outcome | null): void {
    for (const frame of reportFrames(this.row.session, this.id, events, outcome)) this.#host.toServer(frame);
  }

  #ending(): Ending {
    return {
      asked: this.row.asked,
      killed: this.row.killed,
      timeoutMs: this.row.command.timeout_ms,
      storage: this.#host.storage,
      startedAt: this.row.started_at,
      finishedAt: Date.now(),
    };
  }

  #arm(ms: number, then: () => void): void {
    this.#disarm();
    this.#timer = setTimeout(() => {
      this.#timer = null;
      then();
    }, ms);
  }

  #disarm(): void {
    if (this.#timer) clearTimeout(this.#timer);
    this.#timer = null;
  }
}

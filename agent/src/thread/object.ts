/**
 * One thread of the agent: its runs, what they said, and LangGraph's checkpoints, in the object's own SQLite. Its id is
 * the key of its sandbox.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import { failureOf } from "@sandbar/shared";
import { type Answer, ok, refuse } from "@sandbar/worker/src/answer.ts";
import { Signal } from "@sandbar/worker/src/session/signal.ts";
import { refuseBeyond } from "@sandbar/worker/src/session/sse.ts";
import type { History, RunRequest, StreamMode, UpdateState } from "../api/shapes.ts";
import { noteThread, removeThread, type ThreadStatus } from "../db/threads.ts";
import type { Env } from "../env.ts";
import { type CheckpointPoint, CheckpointRows } from "./checkpoint-rows.ts";
import { copyRows, type ThreadCopy, takeRows } from "./copy.ts";
import { doorClient } from "./door-client.ts";
import { Driver } from "./driver.ts";
import { EventLog } from "./event-log.ts";
import { Images, type StoredImage } from "./images.ts";
import { patientJson } from "./patient-json.ts";
import { runStream } from "./run-stream.ts";
import { isOver, type Run, type RunStatus, Runs, type Strategy } from "./runs.ts";
import { createTables } from "./schema.ts";
import { THREAD_TOPIC, type ThreadCursor, threadStream } from "./thread-stream.ts";
import { titleFrom } from "./title.ts";

/** How soon after a crash a run goes on by itself. */
const LOOK_AGAIN_MS = 5_000;
/** For readers of a run without a thread. */
const TEMPORARY_MS = 60_000;
/** How soon it shows that a reader has gone, where that matters. */
const NOTICE_LEFT_MS = 1_000;
const MOST_WAITING = 100;
const NO_RUN = "No such run";

export interface Who {
  readonly tenant: string;
  readonly thread_id: string;
}

export interface NewRun {
  readonly run_id: string;
  readonly request: RunRequest;
  readonly strategy: Strategy;
  readonly metadata: Record<string, unknown>;
  readonly key_id: string;
  readonly origin: string;
  /** The thread goes when the run has ended. */
  readonly temporary: boolean;
}

/** Of a thread's state, as JSON. */
interface ThreadValues {
  readonly values: string | null;
  readonly interrupts: string;
  /** Something comes next. */
  readonly waiting: boolean;
}
const NOTHING_ASKED = "{}";

export interface ThreadSummary {
  readonly status: ThreadStatus;
  /** JSON of the newest state, null before the first. */
  readonly values: string | null;
  /** JSON, by task. */
  readonly interrupts: string;
  readonly error: Run["error"];
}

export class ThreadObject extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #signal = new Signal();
  readonly #runs: Runs;
  readonly #log: EventLog;
  readonly #checkpoints: CheckpointRows;
  readonly #driver: Driver;
  #driving: Promise<void> | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    createTables(this.#sql);
    this.#runs = new Runs(this.#sql);
    this.#log = new EventLog(this.#sql, (run_id) => {
      this.#signal.wake(run_id);
      this.#signal.wake(THREAD_TOPIC);
    });
    this.#checkpoints = new CheckpointRows(this.#sql);
    this.#driver = new Driver({
      env,
      sql: this.#sql,
      runs: this.#runs,
      log: this.#log,
      checkpoints: this.#checkpoints,
      threadId: () => this.#who()!.thread_id,
      over: (run_id) => this.#signal.wake(run_id),
    });
  }

  async createRun(who: Who, wanted: NewRun): Promise<Answer<Run>> {
    this.#own(who);
    // The call is repeated when the object was reset under it.
    const known = this.#runs.find(wanted.run_id);
    if (known) return ok(known);
    const active = this.#runs.unfinished();
    const { checkpoint, checkpoint_id } = wanted.request;
    const from = checkpoint?.checkpoint_id ?? checkpoint_id;
    if (from && !this.#checkpoints.has(from)) return refuse("NOT_FOUND", "No such checkpoint");
    if (wanted.strategy === "reject" && active.length > 0)
      return refuse("THREAD_BUSY", "A run is under way, and this one was not to wait for it");
    if (active.length >= MOST_WAITING) return refuse("THREAD_BUSY", `${active.length} runs wait already`);
    if (wanted.strategy === "interrupt" || wanted.strategy === "rollback")
      for (const { run_id } of active) this.#cancel(run_id, wanted.strategy);
    if (wanted.temporary) this.ctx.storage.kv.put("temporary", true);
    const { temporary: _, ...given } = wanted;
    const run = this.#runs.add(given);
    // Before the answer: whatever happens from here on, the run is found again.
    await this.#lookAgain();
    this.#drive();
    return ok(run);
  }

  async run(who: Who, run_id: string): Promise<Answer<Run>> {
    this.#own(who);
    const run = this.#runs.find(run_id);
    return run ? ok(run) : refuse("NOT_FOUND", NO_RUN);
  }

  async listRuns(who: Who, page: { limit: number; offset: number; status?: RunStatus }): Promise<Run[]> {
    this.#own(who);
    return this.#runs.list(page);
  }

  async deleteRun(who: Who, run_id: string): Promise<Answer<null>> {
    this.#own(who);
    const run = this.#runs.find(run_id);
    if (!run) return refuse("NOT_FOUND", NO_RUN);
    if (!isOver(run)) return refuse("THREAD_BUSY", "The run is under way; cancel it first");
    this.#log.remove(run_id);
    this.#runs.remove(run_id);
    return ok(null);
  }

  async stream(
    who: Who,
    run_id: string,
    options: { after: number; modes: StreamMode[] | null; key_id: string; cancelWhenLeft: boolean },
  ): Promise<Answer<ReadableStream<Uint8Array>>> {
    this.#own(who);
    const run = this.#runs.find(run_id);
    if (!run) return refuse("NOT_FOUND", NO_RUN);
    const last = this.#log.last(run_id);
    if (options.after > last) return refuseBeyond(last);
    const parts = {
      runs: this.#runs,
      log: this.#log,
      signal: this.#signal,
      allowed: () => this.env.SANDBAR.stillGood(options.key_id),
      ...(options.cancelWhenLeft ? { keepAliveMs: NOTICE_LEFT_MS } : {}),
      left: () => {
        const now = this.#runs.find(run_id);
        if (options.cancelWhenLeft && now && !isOver(now)) this.#cancel(run_id, "interrupt");
      },
    };
    return ok(runStream(parts, run_id, options.after, options.modes));
  }

  /** The thread's values once the run has ended, as JSON; of a run that failed, why. */
  async wait(
    who: Who,
    run_id: string,
    { cancelWhenLeft }: { cancelWhenLeft: boolean },
  ): Promise<Answer<ReadableStream<Uint8Array>>> {
    this.#own(who);
    if (!this.#runs.find(run_id)) return refuse("NOT_FOUND", NO_RUN);
    const left = () => this.#cancel(run_id, "interrupt");
    const watched = cancelWhenLeft ? { everyMs: NOTICE_LEFT_MS, left } : {};
    return ok(patientJson(this.#result(run_id), watched));
  }

  async #result(run_id: string): Promise<string> {
    const ended = await this.#over(run_id);
    if (!ended)
      return JSON.stringify({ __error__: { error: "NOT_FOUND", message: "The run was rolled back" } });
    if (ended.error) return JSON.stringify({ __error__: ended.error });
    const { values, interrupts } = await this.#values();
    const asked = Object.values(JSON.parse(interrupts) as Record<string, unknown[]>).flat();
    if (asked.length === 0) return values ?? "null";
    return JSON.stringify({ ...JSON.parse(values ?? "{}"), __interrupt__: asked });
  }

  /** What all runs of the thread say, from now on or from a point that a reader has come to. */
  async streamThread(
    who: Who,
    options: { after: ThreadCursor | null; lifecycle: boolean; key_id: string },
  ): Promise<ReadableStream<Uint8Array>> {
    this.#own(who);
    const parts = {
      log: this.#log,
      signal: this.#signal,
      there: () => this.#who() !== null,
      allowed: () => this.env.SANDBAR.stillGood(options.key_id),
    };
    return threadStream(parts, options.after ?? this.#log.end(), options.lifecycle);
  }

  async cancel(
    who: Who,
    run_id: string,
    action: "interrupt" | "rollback",
    wait: boolean,
  ): Promise<Answer<null>> {
    this.#own(who);
    const run = this.#runs.find(run_id);
    if (!run) return refuse("NOT_FOUND", NO_RUN);
    if (!isOver(run)) this.#cancel(run_id, action);
    if (wait) await this.#over(run_id);
    return ok(null);
  }

  async cancelAll(
    who: Who,
    wanted: { run_ids: string[] | null; status: "pending" | "running" | "all" },
    action: "interrupt" | "rollback",
  ): Promise<void> {
    this.#own(who);
    const meant = ({ run_id, status }: Run) =>
      (wanted.run_ids === null || wanted.run_ids.includes(run_id)) &&
      (wanted.status === "all" || wanted.status === status);
    for (const { run_id } of this.#runs.all().filter(meant)) this.#cancel(run_id, action);
  }

  async summary(who: Who): Promise<ThreadSummary> {
    this.#own(who);
    const now = await this.#values();
    const { values, interrupts } = now;
    return { status: this.#status(now), values, interrupts, error: this.#runs.latest()?.error ?? null };
  }

  /** As JSON. */
  async state(who: Who, checkpoint_id: string | null): Promise<Answer<string>> {
    this.#own(who);
    if (checkpoint_id && !this.#checkpoints.has(checkpoint_id))
      return refuse("NOT_FOUND", "No such checkpoint");
    const { threadState } = await import("../graph/thread-state.ts");
    return ok(await threadState(this.#stateOf(), checkpoint_id));
  }

  async history(who: Who, wanted: History): Promise<string> {
    this.#own(who);
    if (this.#checkpoints.empty) return "[]";
    const { threadHistory } = await import("../graph/thread-state.ts");
    return threadHistory(this.#stateOf(), wanted);
  }

  async points(who: Who): Promise<CheckpointPoint[]> {
    this.#own(who);
    return this.#checkpoints.points();
  }

  async updateState(who: Who, update: UpdateState): Promise<Answer<Record<string, unknown>>> {
    this.#own(who);
    const from = update.checkpoint?.checkpoint_id ?? update.checkpoint_id;
    if (from && !this.#checkpoints.has(from)) return refuse("NOT_FOUND", "No such checkpoint");
    if (this.#runs.unfinished().length > 0) return refuse("THREAD_BUSY", "A run is under way");
    const { updateThreadState } = await import("../graph/thread-state.ts");
    try {
      const made = await updateThreadState(this.#stateOf(), update);
      await this.#note();
      return ok(made);
    } catch (error) {
      return { failure: failureOf(error, "RUN_FAILED") };
    }
  }

  async image(who: Who, sha256: string): Promise<StoredImage | null> {
    this.#own(who);
    return new Images(this.#sql, who.thread_id).find(sha256);
  }

  async copyOf(who: Who): Promise<ThreadCopy> {
    this.#own(who);
    return copyRows(this.#sql);
  }

  async takeCopy(who: Who, from: string, copy: ThreadCopy): Promise<void> {
    this.#own(who);
    takeRows(this.#sql, copy, from, who.thread_id);
    await this.#note();
  }

  /** Ends what runs and forgets everything. The sandbox is the caller's to stop. */
  async remove(who: Who): Promise<void> {
    this.#own(who);
    for (const { run_id } of this.#runs.all()) this.#cancel(run_id, "interrupt");
    await this.#driving;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
    createTables(this.#sql);
    this.#signal.wake(THREAD_TOPIC);
  }

  /** Forgets how the thread has come to its state. */
  async keepLatest(who: Who): Promise<void> {
    this.#own(who);
    if (this.#runs.unfinished().length === 0) this.#checkpoints.keepLatest();
  }

  override async alarm(): Promise<void> {
    const who = this.#who();
    if (!who) return;
    this.#runs.queueDue();
    if (this.#runs.unfinished().length > 0 || this.#runs.nextDue() !== null) {
      await this.#lookAgain();
      this.#drive();
    } else if (this.ctx.storage.kv.get("temporary")) await this.#vanish(who);
    else if (this.ctx.storage.kv.get("unnoted")) await this.#note();
  }

  #drive(): void {
    if (this.#driving) return;
    const driving = this.#driveAll().finally(() => {
      this.#driving = null;
      // Whatever came between the last look and now.
      if (this.#runs.unfinished().length > 0) this.#drive();
    });
    this.#driving = driving;
    this.ctx.waitUntil(driving);
  }

  /** Soon while a run is under way, when the next one is due otherwise. */
  async #lookAgain(): Promise<void> {
    const soon = this.#runs.unfinished().length > 0;
    const due = this.#runs.nextDue();
    if (soon || due !== null)
      await this.ctx.storage.setAlarm(soon || due === null ? Date.now() + LOOK_AGAIN_MS : due);
  }

  async #driveAll(): Promise<void> {
    await this.#note();
    for (;;) {
      this.#runs.queueDue();
      const [run] = this.#runs.unfinished();
      if (!run) break;
      await this.#driver.carryOut(run);
      await this.#note();
    }
    if (this.#runs.nextDue() !== null) await this.#lookAgain();
    else if (this.ctx.storage.kv.get("temporary")) await this.ctx.storage.setAlarm(Date.now() + TEMPORARY_MS);
    else if (!this.ctx.storage.kv.get("unnoted")) await this.ctx.storage.deleteAlarm();
  }

  #cancel(run_id: string, action: "interrupt" | "rollback"): void {
    const run = this.#runs.find(run_id);
    if (!run || isOver(run)) return;
    this.#runs.cancel(run_id, action);
    this.#driver.abort(run_id);
    this.#drive();
  }

  /** The run once it has ended; null when there is none, or none any more. */
  async #over(run_id: string): Promise<Run | null> {
    for (;;) {
      const run = this.#runs.find(run_id);
      if (!run || isOver(run)) return run;
      await this.#signal.wait(run_id);
    }
  }

  async #values(): Promise<ThreadValues> {
    if (this.#checkpoints.empty) return { values: null, interrupts: NOTHING_ASKED, waiting: false };
    const { threadValues } = await import("../graph/thread-state.ts");
    return threadValues(this.#stateOf());
  }

  #status({ waiting, interrupts }: Pick<ThreadValues, "waiting" | "interrupts">): ThreadStatus {
    if (this.#runs.unfinished().length > 0) return "busy";
    const last = this.#runs.latest()?.status;
    if (last === "error") return "error";
    // What was stopped by its user waits for nobody.
    const stopped = last === "interrupted" && interrupts === NOTHING_ASKED;
    return waiting && !stopped ? "interrupted" : "idle";
  }

  /** Tells the list how the thread stands; later, when the list does not answer. */
  async #note(): Promise<void> {
    const { tenant, thread_id } = this.#who()!;
    this.ctx.storage.kv.put("unnoted", true);
    try {
      const busy = this.#runs.unfinished().length > 0;
      const now = busy ? { waiting: false, interrupts: NOTHING_ASKED } : await this.#values();
      await noteThread(this.env.DB, tenant, thread_id, {
        status: this.#status(now),
        title: this.#title(),
      });
      this.ctx.storage.kv.delete("unnoted");
    } catch (error) {
      console.error("could not note a thread", error);
      await this.ctx.storage.setAlarm(Date.now() + LOOK_AGAIN_MS);
    }
  }

  /** The first thing that was asked. */
  #title(): string | null {
    const [first] = this.#sql
      .exec<{ request: string }>("SELECT request FROM runs ORDER BY number LIMIT 1")
      .toArray();
    const { input } = JSON.parse(first?.request ?? "{}") as { input?: { messages?: unknown } };
    const messages = input?.messages;
    const message = Array.isArray(messages) ? messages[0] : messages;
    const content =
      typeof message === "string" ? message : (message as { content?: unknown } | undefined)?.content;
    return titleFrom(content);
  }

  async #vanish(who: Who): Promise<void> {
    const run = this.#runs.latest();
    if (run) {
      const session = await doorClient(this.env, run)
        .findSession(who.thread_id)
        .catch(() => null);
      await session?.stop().catch(() => undefined);
    }
    await removeThread(this.env.DB, who.tenant, who.thread_id);
    await this.ctx.storage.deleteAll();
    createTables(this.#sql);
  }

  #stateOf() {
    const { thread_id } = this.#who()!;
    return { sql: this.#sql, threadId: thread_id, images: new Images(this.#sql, thread_id) };
  }

  #who(): Who | null {
    return this.#sql.exec<{ tenant: string; thread_id: string }>("SELECT * FROM thread").toArray()[0] ?? null;
  }

  #own({ tenant, thread_id }: Who): void {
    if (!this.#who()) this.#sql.exec("INSERT INTO thread VALUES (?, ?)", tenant, thread_id);
  }
}

/**
 * A thread that is open in this page: read when it is entered, followed while something runs, looked at again when
 * another page has asked something. What a cut connection missed is in the run's journal, and is read from there.
 *
 * @module
 */
import { type Decision, type NewRun, type RunRecord, SandbarError, type ThreadMessage } from "@sandbar/sdk";
import { sandbar } from "../../api/client.ts";
import { isHopeless } from "../../api/hopeless.ts";
import { createStore } from "../../api/store.ts";
import { emptyRun, folded, type RunView } from "./fold.ts";
import { isUnfinished } from "./messages.ts";
import { Painter } from "./painter.ts";
import { type ThreadView, UNKNOWN_THREAD } from "./thread-view.ts";

/** How soon it shows that another page has asked something. */
const LOOK_MS = 2_000;
/** How many of a thread's runs are looked at. */
const RUNS = { limit: 50 };
const MODES = ["values", "messages-tuple", "updates", "custom"];
const MOST_PAUSE_MS = 4_000;
/** Runs of before whose output is read again; older cells show what the model was told. */
const OUTPUT_RUNS = 20;

export class ChatThread {
  readonly id: string;
  readonly view = createStore<ThreadView>(UNKNOWN_THREAD);
  /** Runs that were heard to their end. */
  readonly #heard = new Set<string>();
  #poked = false;
  #wake: () => void = () => {};

  constructor(id: string) {
    this.id = id;
  }

  /** Returns what ends it. */
  open(): () => void {
    const controller = new AbortController();
    void this.#live(controller.signal);
    return () => controller.abort();
  }

  /** Sends a question, or goes on from `from`, and follows what comes of it. */
  async ask(
    message: ThreadMessage,
    from?: { checkpoint: string; messages: readonly ThreadMessage[] },
  ): Promise<void> {
    const { branch, sent, messages } = this.#now;
    const checkpoint = from?.checkpoint ?? branch;
    this.#set({ sent: [...sent, { message, runId: null }], messages: from?.messages ?? messages });
    try {
      const { run_id } = await this.#begin({
        input: { messages: [asInput(message)] },
        ...(checkpoint ? { checkpoint_id: checkpoint } : {}),
      });
      this.#set({
        sent: this.#now.sent.map((each) => (each.message === message ? { message, runId: run_id } : each)),
      });
    } catch (error) {
      this.#set({ sent: this.#now.sent.filter((each) => each.message !== message), messages });
      throw error;
    }
  }

  /** One decision for each call that waits. */
  async decide(decisions: Decision[]): Promise<void> {
    await this.#begin({ command: { resume: { decisions } } });
  }

  /** From where it stands: after a failure, or a stop. */
  async goOn(): Promise<void> {
    await this.#begin({});
  }

  /** Ends the answer and its code; questions that wait stay. */
  async stop(): Promise<void> {
    const running =
      this.#now.runs.find(({ status }) => status === "running") ?? this.#now.runs.findLast(isUnfinished);
    if (running) await this.cancel(running.run_id);
  }

  async cancel(runId: string): Promise<void> {
    await sandbar.threads.join(this.id, runId).cancel();
    this.#set({ sent: this.#now.sent.filter((each) => each.runId !== runId) });
    this.#poke();
  }

  /** Shows the branch that ends at this checkpoint. */
  async show(checkpoint: string): Promise<void> {
    const messages = await sandbar.threads.messagesAt(this.id, checkpoint);
    const newest = this.#now.points.at(-1)?.checkpoint_id;
    this.#set({ messages, branch: checkpoint === newest ? null : checkpoint });
  }

  get #now(): ThreadView {
    return this.view.get();
  }

  #set(changes: Partial<ThreadView>): void {
    this.view.set({ ...this.#now, ...changes });
  }

  #poke(): void {
    this.#poked = true;
    this.#wake();
  }

  async #begin(wanted: NewRun): Promise<RunRecord> {
    const run = await sandbar.threads.start(this.id, wanted);
    const known = this.#now.runs.some(({ run_id }) => run_id === run.run_id);
    if (!known) this.#set({ runs: [run, ...this.#now.runs] });
    this.#poke();
    return run;
  }

  async #live(signal: AbortSignal): Promise<void> {
    let failures = 0;
    let reading = false;
    while (!signal.aborted)
      try {
        const run = await this.#read();
        signal.throwIfAborted();
        failures = 0;
        if (run) await this.#follow(run, signal);
        else {
          // Without it the cells show what the model was told.
          if (!reading) void this.#readOutputs(signal).catch(() => {});
          reading = true;
          await this.#news(signal);
        }
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof SandbarError && error.status === 404) return this.#set({ state: "missing" });
        if (isHopeless(error)) return this.#set({ state: "failed", failure: error });
        await pause(Math.min(MOST_PAUSE_MS, 300 * 2 ** failures++), signal);
      }
  }

  /** All there is; gives the run that is to be followed next. */
  async #read(): Promise<RunRecord | null> {
    this.#poked = false;
    const [thread, list, points] = await Promise.all([
      sandbar.threads.get(this.id),
      sandbar.threads.runs(this.id, RUNS),
      sandbar.threads.checkpoints(this.id),
    ]);
    const next = list.findLast(isUnfinished) ?? list.find(({ run_id }) => !this.#heard.has(run_id)) ?? null;
    // Of those that are over only the newest is heard again: it may have broken off.
    const run = next && (isUnfinished(next) || next === list[0]) ? next : null;
    const moved = run !== null && isUnfinished(run);
    const { branch, messages, sent } = this.#now;
    const stays = branch !== null && !moved && points.some(({ checkpoint_id }) => checkpoint_id === branch);
    const kept = stays ? messages : (thread.values?.messages ?? []);
    const ids = new Set(kept.map(({ id }) => id));
    this.#set({
      ...{ state: "ready", thread, points, runs: list, messages: kept, branch: stays ? branch : null },
      sent: sent.filter(
        ({ message, runId }) => !ids.has(message.id) && (runId === null || isOpen(list, runId)),
      ),
      following: moved,
    });
    return run;
  }

  async #follow({ run_id }: RunRecord, signal: AbortSignal): Promise<void> {
    let view = emptyRun(run_id);
    const painter = new Painter(() => this.#paint(view));
    this.#set({ run: view });
    const stream = sandbar.threads.join(this.id, run_id, {
      ...{ signal, modes: MODES, giveUpAfterMs: Number.POSITIVE_INFINITY },
    });
    try {
      for await (const event of stream) {
        view = folded(view, event, Date.now());
        painter.touch();
      }
    } catch (error) {
      // It was taken back as if it had never been.
      if (!(error instanceof SandbarError && error.status === 404)) throw error;
    } finally {
      painter.flush();
    }
    this.#heard.add(run_id);
  }

  #paint(run: RunView): void {
    this.#set({ run, outputs: { ...this.#now.outputs, ...run.calls } });
  }

  /** What the code of earlier turns has put out. */
  async #readOutputs(signal: AbortSignal): Promise<void> {
    for (const { run_id } of this.#now.runs.slice(0, OUTPUT_RUNS)) {
      if (this.#heard.has(run_id)) continue;
      let view = emptyRun(run_id);
      for await (const event of sandbar.threads.join(this.id, run_id, { modes: ["custom"], signal }))
        view = folded(view, event, Date.now());
      this.#set({ outputs: { ...view.calls, ...this.#now.outputs } });
    }
  }

  /** Returns when this page has done something, or another one has. */
  async #news(signal: AbortSignal): Promise<void> {
    const before = signature(this.#now.runs);
    while (!signal.aborted && !this.#poked) {
      const poke = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([pause(LOOK_MS, signal), poke]);
      if (this.#poked || document.hidden) continue;
      if (signature(await sandbar.threads.runs(this.id, RUNS)) !== before) return;
    }
  }
}

const signature = (list: readonly RunRecord[]) =>
  list.map(({ run_id, status }) => `${run_id} ${status}`).join();

const isOpen = (list: readonly RunRecord[], runId: string) =>
  list.some((run) => run.run_id === runId && isUnfinished(run));

const asInput = ({ id, content }: ThreadMessage) => ({ role: "user", id, content });

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        resolve();
      },
      { once: true },
    );
  });
}

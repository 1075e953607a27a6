/** @module A context: one kernel after another, and the executions that wait for it. */
import type { Artifacts } from "./artifacts.ts";
import type { Execution, Journal } from "./journal.ts";
import type { KernelProcess } from "./kernel-process.ts";
import type { Kernels } from "./kernels.ts";
import { FAILED_STARTS, KERNEL_START_MS, QUEUED_PER_CONTEXT } from "./limits.ts";
import type { Link } from "./link.ts";
import { boundedBundle, boundedError } from "./results.ts";
import type { Storage } from "./storage.ts";
import { LateText, StreamText } from "./text.ts";

const NOTHING = { stdout: 0, stderr: 0, results_dropped: 0 };
const ANSWER_GRACE_MS = 1000;
const AGAIN_MS = 500;
const OUT_OF_MEMORY = /out of memory|memory allocation .* failed/i;

export interface ContextParts {
  readonly link: Link;
  readonly journal: Journal;
  readonly kernels: Kernels;
  readonly artifacts: Artifacts;
  readonly storage: Storage;
  holdAll(): void;
  onGone(context: Context): void;
  /** Whether the kernel of this process was killed for the memory that the session used. */
  wasKilledForMemory(kernel: KernelProcess): boolean;
}

export interface KernelExit {
  readonly exit_code: number | null;
  readonly signal: number | null;
  readonly oom: boolean;
}

interface Question {
  readonly number: number;
  readonly onAnswer: (message: Record<string, unknown>) => void;
  timer: NodeJS.Timeout;
}

export class Context {
  readonly name: string;
  readonly language = "python";
  readonly #parts: ContextParts;
  readonly #late: { stdout: LateText; stderr: LateText };
  #env: Record<string, string>;
  #kernel: KernelProcess | null = null;
  #queue: Execution[] = [];
  #running: Execution | null = null;
  #streams: { stdout: StreamText; stderr: StreamText } | null = null;
  #failedStarts = 0;
  #startTimer: NodeJS.Timeout | undefined;
  #asking: Question | null = null;
  #asked = 0;
  /** Code has run in the kernel. */
  #used = false;
  state: "starting" | "ready" | "dead" = "starting";
  /** How the variables went while no code ran, until an execution has been told. */
  lost: { at: number; exit: KernelExit } | null = null;
  closed = false;

  constructor(parts: ContextParts, name: string, env: Record<string, string>) {
    this.#parts = parts;
    this.name = name;
    this.#env = env;
    const send = (line: string) => parts.link.sendLate(line);
    this.#late = { stdout: new LateText(send, name, "stdout"), stderr: new LateText(send, name, "stderr") };
    this.#start();
  }

  get running(): Execution | null {
    return this.#running;
  }

  submit(execution: Execution): void {
    this.#queue.push(execution);
    if (this.state === "dead") {
      this.#failedStarts = FAILED_STARTS - 1;
      this.#start();
    }
    this.#pump();
  }

  full(): boolean {
    return this.#queue.length >= QUEUED_PER_CONTEXT;
  }

  idle(): boolean {
    return this.state === "ready" && !this.#running && !this.#asking && this.#queue.length === 0;
  }

  interrupt(execution: Execution, again = true): void {
    if (execution === this.#running) {
      this.#kernel?.say({ op: "interrupt" });
      // A kernel that had not begun yet takes the interrupt for nobody's.
      if (again) setTimeout(() => this.interrupt(execution, false), AGAIN_MS);
    } else if (this.#withdraw(execution)) this.#endUnstarted(execution, "interrupted", null);
  }

  kill(execution: Execution): void {
    if (execution === this.#running) this.#killKernel();
    else if (this.#withdraw(execution)) this.#endUnstarted(execution, "died", null);
  }

  restart(): void {
    this.#failedStarts = 0;
    this.#used = false;
    this.lost = null;
    if (this.#kernel?.alive) this.#killKernel();
    else this.#start();
  }

  /** Of a session that was not known when the kernel started; given once, as at any other start. */
  setEnv(env: Record<string, string>): void {
    if (Object.keys(this.#env).length || !Object.keys(env).length) return;
    this.#env = env;
    if (this.#kernel?.ready) this.#kernel.say({ op: "env", env });
    else this.restart();
  }

  close(): void {
    this.closed = true;
    for (const execution of this.#queue.splice(0)) this.#endUnstarted(execution, "died", null);
    if (this.#kernel?.alive) this.#killKernel();
    else this.#letGo();
  }

  hold(held: boolean): void {
    this.#kernel?.hold(held);
  }

  /** One question at a time, between executions; those that come meanwhile wait. */
  ask(
    message: { op: "state" | "complete" } & Record<string, unknown>,
    timeoutMs: number,
    onAnswer: (message: Record<string, unknown>) => void,
  ): void {
    const number = ++this.#asked;
    const timer = setTimeout(() => {
      // User code is asked for its `repr`, and may well loop: with what it has by then it answers.
      this.#kernel?.say({ op: "interrupt" });
      this.#asking!.timer = setTimeout(() => this.#questionLost(), ANSWER_GRACE_MS);
    }, timeoutMs);
    this.#asking = { number, onAnswer, timer };
    this.#kernel!.say({ ...message, ask: number });
  }

  /** It does not yield to anything: nobody could use this kernel any more. */
  #questionLost(): void {
    this.#answered({ error: "the kernel did not answer in time, and was restarted" });
    this.#kernel?.kill();
  }

  #answered(message: Record<string, unknown>): void {
    const asking = this.#asking;
    if (!asking) return;
    this.#asking = null;
    clearTimeout(asking.timer);
    asking.onAnswer(message);
    this.#pump();
  }

  #withdraw(execution: Execution): boolean {
    const at = this.#queue.indexOf(execution);
    if (at >= 0) this.#queue.splice(at, 1);
    return at >= 0;
  }

  #start(): void {
    const { kernels, storage, journal } = this.#parts;
    clearTimeout(this.#startTimer);
    this.#late.stderr.recent = "";
    const kernel: KernelProcess = kernels.spawn(this.#env, storage.room(), {
      onMessage: (message) => this.#onMessage(message),
      onOutput: (stream, data) => {
        if (this.#running) this.#streams?.[stream].feed(data);
        else this.#late[stream].feed(data);
        if (journal.full) this.#parts.holdAll();
      },
      onRaw: (stream, data) => {
        if (this.#running) this.#streams?.[stream].feed(data);
        else this.#late[stream].feed(data);
      },
      onExit: (exit) => this.#onExit(kernel, exit),
    });
    this.#kernel = kernel;
    if (journal.full) kernel.hold(true);
    this.#startTimer = setTimeout(() => kernel.kill(), KERNEL_START_MS);
    this.#announce("starting");
  }

  #killKernel(): void {
    if (!this.#kernel?.alive) return;
    // What comes before the exit is noticed belongs to the next kernel.
    this.state = "starting";
    this.#kernel.kill();
  }

  #onExit(
    kernel: KernelProcess,
    { exit_code, signal }: { exit_code: number | null; signal: number | null },
  ): void {
    clearTimeout(this.#startTimer);
    const told = OUT_OF_MEMORY.test(this.#streams?.stderr.recent ?? this.#late.stderr.recent);
    const oom = kernel.outOfMemory || (!kernel.killed && (told || this.#parts.wasKilledForMemory(kernel)));
    const exit = { exit_code, signal, oom };
    const running = this.#running;
    this.#answered({ error: "the kernel ended" });
    if (running) {
      this.#running = null;
      this.#finish(running, "died", null, exit);
    }
    if (this.closed) {
      this.#letGo();
      return;
    }
    if (this.#used && !running) this.lost = { at: Date.now(), exit };
    this.#used = false;
    this.#failedStarts = kernel.ready ? 0 : this.#failedStarts + 1;
    if (this.#failedStarts < FAILED_STARTS) {
      this.#start();
      return;
    }
    this.#announce("dead", `the kernel ended before it was ready: ${this.#late.stderr.recent.trim()}`);
    for (const execution of this.#queue.splice(0)) this.#endUnstarted(execution, "died", exit, this.#loss());
  }

  #letGo(): void {
    clearTimeout(this.#startTimer);
    this.#announce("dead", "closed");
    this.#parts.onGone(this);
  }

  #onMessage(message: Record<string, unknown>): void {
    const { journal } = this.#parts;
    const running = this.#running;
    const own = running !== null && message.id === running.id;
    const { op } = message;
    if (op === "done" && own) {
      this.#running = null;
      const { status, exit_code: code } = message;
      const known = status === "ok" || status === "interrupted" ? status : "error";
      this.#finish(running, known, Number.isSafeInteger(code) ? (code as number) : null, null);
      this.#pump();
    } else if (op === "result" && own) {
      this.#flush();
      const data = boundedBundle(running, message);
      if (data && Object.keys(data).length) journal.event(running, "result", { data });
    } else if (op === "error" && own && !running.failed) {
      running.failed = true;
      this.#flush();
      journal.event(running, "error", boundedError(running, message));
    } else if (op === "late" && (message.stream === "stdout" || message.stream === "stderr")) {
      this.#late[message.stream].text(String(message.text ?? ""));
    } else if (op === "answer") {
      if (this.#asking?.number === message.ask) this.#answered(message);
    } else if (op === "fatal") {
      this.#late.stderr.text(`${String(message.detail ?? "")}\n`);
      this.#kernel?.kill();
    } else if (op === "ready" && this.#kernel && !this.#kernel.ready) {
      this.#kernel.ready = true;
      this.#failedStarts = 0;
      clearTimeout(this.#startTimer);
      this.#announce("ready");
      this.#pump();
    }
    if (journal.full) this.#parts.holdAll();
  }

  #pump(): void {
    if (this.state !== "ready" || this.#running || this.#asking) return;
    const execution = this.#queue.shift();
    if (execution) this.#begin(execution);
  }

  #begin(execution: Execution): void {
    const { journal } = this.#parts;
    const { request } = execution;
    this.#running = execution;
    this.#used = true;
    execution.loss = this.#loss();
    this.#streams = {
      stdout: new StreamText(journal, execution, "stdout"),
      stderr: new StreamText(journal, execution, "stderr"),
    };
    const { code, env, stdin, mime_value_limit, mime_total_limit } = request;
    this.#kernel!.say({ op: "run", id: execution.id, code, env, stdin, mime_value_limit, mime_total_limit });
    journal.event(execution, "started");
  }

  #flush(): void {
    this.#streams?.stdout.flush();
    this.#streams?.stderr.flush();
  }

  #finish(execution: Execution, status: string, exitCode: number | null, exit: KernelExit | null): void {
    const { journal, artifacts } = this.#parts;
    const streams = this.#streams!;
    this.#streams = null;
    streams.stdout.finish();
    streams.stderr.finish();
    const totals: Record<string, unknown> = {
      stdout: streams.stdout.total,
      stderr: streams.stderr.total,
      results_dropped: execution.dropped,
      ...execution.errorLengths,
    };
    if (execution.leftOut.size) totals.left_out = Object.fromEntries(execution.leftOut);
    if (execution.resultLength) totals.result = execution.resultLength;
    journal.end(execution, {
      status,
      exit_code: exitCode,
      exit,
      totals,
      ...artifacts.found(),
      ...execution.loss,
    });
  }

  #endUnstarted(execution: Execution, status: string, exit: KernelExit | null, more: object = {}): void {
    this.#parts.journal.end(execution, { status, exit_code: null, exit, totals: NOTHING, ...more });
  }

  /** What an execution says of it, once: its `done` is kept until acknowledged. */
  #loss(): object {
    const { lost } = this;
    this.lost = null;
    return lost ? { lost } : {};
  }

  /** Its code went past the count of its own files. */
  endForStorage(): void {
    const text = Buffer.from("the session's files take far more than its storage: the kernel was ended\n");
    this.#streams?.stderr.feed(text);
    this.#kernel?.kill();
  }

  /** To the kernel that runs: what its folders may grow by. */
  tellRoom(room: number): void {
    if (this.#kernel?.ready) this.#kernel.say({ op: "room", room });
  }

  #announce(state: "starting" | "ready" | "dead", detail = ""): void {
    this.state = state;
    const message = {
      type: "context",
      context: this.name,
      state,
      detail: detail.slice(0, 8000),
      lost: this.lost,
    };
    this.#parts.link.send(`${JSON.stringify(message)}\n`);
  }
}

/**
 * One session on this host: how its box comes to be, is taken over, and ends. Commands are journaled before they come here.
 *
 * @module
 */
import {
  type ArtifactEntry,
  type DaemonMessage,
  type Failure,
  type GuestMessage,
  type HostFrame,
  SandbarError,
  type SessionReport,
} from "@sandbar/shared";
import type { ArtifactExport } from "./artifact-export.ts";
import type { ArtifactIngest, Ingested, Ledger } from "./artifact-ingest.ts";
import { Box, type BoxListener } from "./box.ts";
import type { Config } from "./config.ts";
import type { Containers } from "./containers.ts";
import type { Datasets } from "./datasets.ts";
import { Execution, type ExecutionHost } from "./execution.ts";
import type { FileCalls } from "./file-calls.ts";
import { GuestCalls } from "./guest-calls.ts";
import type { GuestHello } from "./guest-channel.ts";
import type { ExecutionRow, Journal, SessionRow } from "./journal.ts";
import { checkLimits } from "./limit-check.ts";
import type { Log } from "./log.ts";
import { tableError } from "./outcome.ts";
import type { Pool } from "./pool.ts";
import type { PooledBox } from "./pooled-box.ts";
import type { Preparation } from "./preparation.ts";
import type { ProcessCalls } from "./process-calls.ts";
import type { Removals } from "./removals.ts";
import { SessionDiary } from "./session-diary.ts";
import { type ExecutionsHost, SessionExecutions } from "./session-executions.ts";
import type { SettledOutcomes } from "./settled-outcomes.ts";
import { sessionFolder } from "./storage.ts";
import type { TransferSockets } from "./transfer-sockets.ts";
import type { VolumeCalls } from "./volume-calls.ts";

/** A container whose guest stays away so long is dead, whatever Docker says. */
const GUEST_AWAY_MS = 30_000;
/** What the guest wrote before its container died is read first. */
const LAST_WORDS_MS = 200;
const RENAME_AFTER_MS = 300;
/** How long a stop waits for the artifacts to be safe. */
const LAST_ARTIFACTS_MS = 30_000;
/** How long it waits for the guest of an earlier daemon to dial. */
const LAST_HELLO_MS = 10_000;

export interface Upward {
  readonly up: boolean;
  send(frame: HostFrame): boolean;
  sendText(text: string): boolean;
}

export interface SessionContext {
  readonly config: Config;
  readonly journal: Journal;
  readonly containers: Containers;
  readonly link: Upward;
  readonly settled: SettledOutcomes;
  readonly files: FileCalls;
  readonly processes: ProcessCalls;
  readonly artifacts: ArtifactIngest;
  readonly exports: ArtifactExport;
  readonly datasets: Datasets;
  readonly pool: Pool;
  readonly preparation: Preparation;
  readonly volumeCalls: VolumeCalls;
  readonly removals: Removals;
  readonly log: Log;
}

export class Session implements ExecutionHost, ExecutionsHost {
  readonly row: SessionRow;
  readonly executions: SessionExecutions;
  readonly #context: SessionContext;
  readonly #log: Log;
  readonly #calls: GuestCalls;
  /** Only sessions that leave a folder behind have one. */
  readonly #diary: SessionDiary | null;
  readonly #abort = new AbortController();
  /** The sandbox is about to be gone; what is on its way out of it has no time left. */
  readonly #leaving = new AbortController();
  #box: Box | null = null;
  /** Set while the box is on its way to its first ready kernel. */
  #ready: PromiseWithResolvers<GuestHello> | null = null;
  #creating: Promise<void> | null = null;
  #ending: Promise<void> | null = null;
  #hello: GuestHello | null = null;
  #away: NodeJS.Timeout | null = null;
  readonly #steps: [string, number][] = [];
  /** An earlier daemon made the box. */
  #adopted = false;
  #told = false;
  #paused = false;

  constructor(row: SessionRow, context: SessionContext, executions: ExecutionRow[] = []) {
    this.row = row;
    this.#context = context;
    this.#log = context.log.child({ session: row.id, box: row.box });
    this.#calls = new GuestCalls((message) => this.toGuest(message), context.config.callTimeoutMs);
    this.#diary = row.spec.storage === "BIND" ? this.#openDiary() : null;
    this.executions = new SessionExecutions(row.id, this);
    for (const execution of executions) this.executions.add(new Execution(execution, this, true));
  }

  get config(): Config {
    return this.#context.config;
  }

  get journal(): Journal {
    return this.#context.journal;
  }

  get settled(): SettledOutcomes {
    return this.#context.settled;
  }

  get storage() {
    return this.row.spec.storage;
  }

  get linked(): boolean {
    return this.#context.link.up;
  }

  get open(): boolean {
    return this.row.state === "ready" && this.#hello !== null;
  }

  get terminal(): boolean {
    return this.row.state === "failed" || this.row.state === "died" || this.row.state === "stopped";
  }

  get container(): string | null {
    return this.#box?.container ?? this.row.container;
  }

  // Coming to be

  /** In a box of the pool, which is this session's from now on, or in one made for it. */
  create(pooled: PooledBox | null): void {
    this.#box = pooled?.box ?? null;
    this.#creating = this.#create(pooled).catch((error) => this.#fail(error));
  }

  async #create(pooled: PooledBox | null): Promise<void> {
    const { signal } = this.#abort;
    checkLimits(this.config, this.row.spec);
    if (pooled && (await this.#claim(pooled))) return;
    const image = this.#context.containers.imageOf(this.row.spec);
    this.#progress("prepare", "");
    const extras = await this.#context.preparation.prepare(this.row, image, signal, (step, detail) =>
      this.#progress(step, detail),
    );
    this.#box = this.#makeBox();
    this.#ready = this.#awaitReady();
    const onStep = (step: string, detail: string) => {
      signal.throwIfAborted();
      this.#progress(step, detail);
    };
    const onContainer = (container: string) => {
      this.row.container = container;
      this.journal.saveSession(this.row);
    };
    await this.#box.make(image, onStep, onContainer, extras);
    const timer = setTimeout(() => this.#ready?.reject(this.#tooSlow()), this.config.startTimeoutMs);
    const hello = await this.#ready.promise.finally(() => clearTimeout(timer));
    signal.throwIfAborted();
    this.#ready = null;
    this.#log.info({ image, ms: stepTimes(this.#steps) }, "session ready");
    this.#setState({ state: "ready", languages: hello.languages, image });
    this.executions.pump();
  }

  #awaitReady(): PromiseWithResolvers<GuestHello> {
    const { signal } = this.#abort;
    const ready = Promise.withResolvers<GuestHello>();
    // It may be rejected before anybody waits for it.
    ready.promise.catch(() => {});
    signal.addEventListener("abort", () => ready.reject(signal.reason), { once: true });
    return ready;
  }

  /** The journal says already that the box is ours; false when it turns out to be of no use. */
  async #claim(pooled: PooledBox): Promise<boolean> {
    const began = performance.now();
    const { context, spec, container } = this.row;
    this.#ready = this.#awaitReady();
    try {
      this.#hello = pooled.handTo(this.#boxListener());
      const fitted = pooled.box.fit(pooled.spec.limits, spec.limits);
      await Promise.race([fitted, this.#ready.promise.then(() => fitted)]);
      this.#abort.signal.throwIfAborted();
      if (!this.#hello) throw new Error("the guest is away");
    } catch (error) {
      this.#abort.signal.throwIfAborted();
      this.#log.warn({ err: error }, "a box of the pool was of no use; making one");
      await pooled.box.destroy();
      this.#hello = null;
      if (this.#away) clearTimeout(this.#away);
      this.#away = null;
      this.row.container = null;
      this.journal.saveSession(this.row);
      return false;
    } finally {
      this.#ready = null;
    }
    this.#giveEnv();
    const image = this.#context.containers.imageOf(spec);
    this.#setState({ state: "ready", languages: this.#hello.languages, image });
    this.executions.onHello({
      ...this.#hello,
      contexts: [{ context, language: spec.runtime, state: "ready" }],
      executions: [],
    });
    this.#log.info({ image, ms: Math.round(performance.now() - began) }, "session ready, from the pool");
    // Docker takes its time over it, which belongs to the first cell.
    setTimeout(() => void this.#rename(container!), RENAME_AFTER_MS);
    return true;
  }

  async #rename(container: string): Promise<void> {
    if (this.row.state !== "ready") return;
    try {
      await this.#context.containers.rename(container, this.row.id);
    } catch (error) {
      if (this.row.state === "ready") this.#log.warn({ err: error }, "could not rename the container");
    }
  }

  /** A kernel that ran before its session was known hears the session's environment once; the guest ignores a second time. */
  #giveEnv(): void {
    const { context, spec } = this.row;
    if (Object.keys(spec.env).length) this.toGuest({ type: "context.env", context, env: spec.env });
  }

  #tooSlow(): SandbarError {
    const what = this.#hello
      ? `the ${this.row.spec.runtime} kernel was not ready`
      : "the guest did not answer";
    return new SandbarError("SESSION_START_FAILED", `${what} within ${this.config.startTimeoutMs / 1000} s`);
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const failure: Failure =
      error instanceof SandbarError
        ? error.failure
        : { code: "SESSION_START_FAILED", detail: error instanceof Error ? error.message : String(error) };
    this.#log.warn({ err: error }, "session could not be started");
    this.#ready = null;
    await this.#destroy();
    this.executions.end(failure.detail, false);
    this.#setState({ state: "failed", failure });
  }

  /** An earlier daemon began; no code has run in it yet, so the clean way is from the start. */
  recreate(leftovers: string[]): void {
    const cleared = async () => {
      for (const id of leftovers) await this.#context.containers.remove(id);
      await this.#makeBox().destroy();
    };
    this.#creating = cleared()
      .then(() => this.#create(null))
      .catch((error) => this.#fail(error));
  }

  /** The container runs; its guest dials as soon as the socket is back. */
  async adopt(container: string): Promise<void> {
    this.#box = this.#makeBox();
    this.#guestAway();
    this.#adopted = true;
    await this.#box.adopt(container, true);
    this.#log.info({ executions: this.executions.size }, "adopted");
  }

  #makeBox(): Box {
    const { config, containers } = this.#context;
    const { id: session, box: id, spec, token } = this.row;
    const listener = this.#boxListener();
    return new Box({ id, session, spec, token, config, containers, log: this.#log, listener });
  }

  #openDiary(): SessionDiary {
    return new SessionDiary({
      row: this.row,
      folder: sessionFolder(this.config.sessionsRoot, this.row.id),
      log: this.#log,
      askState: (context) => this.call("state", { context }),
    });
  }

  #boxListener(): BoxListener {
    return {
      onHello: (hello: GuestHello) => this.#onHello(hello),
      onMessage: (message: GuestMessage) => this.#onMessage(message),
      onDown: () => this.#onGuestDown(),
      onViolations: () => this.condemn("protocol violation"),
    };
  }

  // The guest

  toGuest(message: DaemonMessage): boolean {
    const channel = this.#hello && this.#box?.channel;
    if (!channel) return false;
    // Nobody waits for an acknowledgement; it only frees memory.
    return message.type === "ack" ? channel.sendSoon(message) : channel.send(message);
  }

  #onHello(hello: GuestHello): void {
    if (this.#away) clearTimeout(this.#away);
    this.#away = null;
    this.#hello = hello;
    this.#box?.channel?.pause(this.#paused);
    if (!this.#ready) {
      if (this.#adopted) this.#giveEnv();
      this.executions.onHello(hello);
      return;
    }
    const { runtime } = this.row.spec;
    if (hello.languages.includes(runtime)) {
      this.#progress("kernel", runtime);
      this.executions.openContext(this.row.context, runtime);
    } else this.#ready.reject(new SandbarError("IMAGE_UNSUPPORTED", `the image cannot run ${runtime}`));
  }

  #onMessage(message: GuestMessage): void {
    if (message.type === "event") {
      const execution = this.executions.get(message.execution);
      if (execution && !execution.finished) this.#diary?.onEvent(message.execution, message.event);
      execution?.onEvent(message.event);
    } else if (message.type === "answer") this.#calls.onAnswer(message);
    else if (message.type === "context" && this.#ready && message.context === this.row.context) {
      if (message.state === "ready" && this.#hello) this.#ready.resolve(this.#hello);
      if (message.state === "dead")
        this.#ready.reject(
          new SandbarError("SESSION_START_FAILED", message.detail || "the kernel ended at its start"),
        );
    }
  }

  #onGuestDown(): void {
    this.#hello = null;
    this.#calls.failAll("the sandbox's connection was lost");
    this.executions.onGuestDown();
    this.#guestAway();
  }

  #guestAway(): void {
    if (this.#away) clearTimeout(this.#away);
    this.#away = setTimeout(() => this.condemn("the guest stays away"), GUEST_AWAY_MS);
  }

  openContext(context: string, language: string): void {
    this.toGuest({ type: "context.open", context, language, env: this.row.spec.env });
  }

  pause(paused: boolean): void {
    this.#paused = paused;
    this.#box?.channel?.pause(paused);
  }

  // Commands

  run(row: ExecutionRow): void {
    this.executions.add(new Execution(row, this, false));
    this.executions.pump();
  }

  ingest(execution: string, entries: readonly ArtifactEntry[], ledger: Ledger): Promise<Ingested> {
    return this.#context.artifacts.take(this, execution, entries, this.#leaving.signal, ledger);
  }

  onFinished({ row }: Execution): void {
    this.#diary?.onFinished(row);
    // Not now: the outcome of the one that finished leaves first.
    setImmediate(() => this.executions.pump());
  }

  beforeExecution(): Promise<void> | null {
    return this.#context.datasets.beforeExecution(this);
  }

  call(method: string, params: Record<string, unknown>, timeoutMs?: number): Promise<unknown> {
    return this.#calls.call(method, params, timeoutMs);
  }

  get transfers(): TransferSockets {
    const channel = this.#box?.channel;
    if (!channel) throw new SandbarError("SESSION_NOT_READY", "the session's box is not there");
    return channel.transfers;
  }

  get tunnels(): TransferSockets {
    const channel = this.#box?.channel;
    if (!channel) throw new SandbarError("SESSION_NOT_READY", "the session's box is not there");
    return channel.tunnels;
  }

  get env(): Record<string, string> {
    return this.row.spec.env;
  }

  get idleMs(): number {
    return this.row.spec.idle_ttl_s * 1000;
  }

  // The control plane

  toServer(text: string): boolean {
    return this.#context.link.sendText(text);
  }

  /** Its state goes out with the `hello` that is about to be sent. */
  inventory(): { session: string; report: SessionReport } {
    this.#told = !this.terminal;
    return { session: this.row.id, report: this.row.report };
  }

  onWelcome(): void {
    this.executions.onWelcome();
    if (!this.#told || this.terminal) this.tell();
  }

  tell(): void {
    this.#told = this.#context.link.send({ t: "session", session: this.row.id, report: this.row.report });
  }

  #setState(report: SessionReport): void {
    // A stop that was journaled meanwhile is not to be forgotten by a restart.
    if (this.row.state === "stopping" && report.state !== "stopped") return;
    this.row.state = report.state;
    this.row.report = report;
    this.journal.saveSession(this.row);
    this.#diary?.onState();
    this.tell();
  }

  #progress(step: string, detail: string): void {
    this.#steps.push([step, performance.now()]);
    this.#context.link.send({ t: "progress", session: this.row.id, step, detail });
  }

  // Ceasing to be

  stop(reason: string): Promise<void> {
    this.#ending = (this.#ending ?? Promise.resolve()).then(() => this.#stop(reason));
    return this.#ending;
  }

  async #stop(reason: string): Promise<void> {
    if (this.row.state === "stopped") {
      this.tell();
      return;
    }
    const began = performance.now();
    this.#abort.abort(new SandbarError("SESSION_STOPPED", reason));
    const leave = setTimeout(() => this.#leaving.abort(), LAST_ARTIFACTS_MS);
    await this.executions.ingested();
    this.executions.end(`the session was stopped (${reason})`, true);
    await this.#creating;
    await this.#saveArtifacts();
    clearTimeout(leave);
    this.toGuest({ type: "shutdown" });
    void this.#destroy();
    this.#log.info({ reason, ms: Math.round(performance.now() - began) }, "session stopped");
    this.#setState({ state: "stopped" });
  }

  /** Kernels end first, so that nothing is still being written. */
  async #saveArtifacts(): Promise<void> {
    for (let waited = 0; this.#adopted && !this.#hello && waited < LAST_HELLO_MS; waited += 20)
      await new Promise((resolve) => setTimeout(resolve, 20));
    if (!this.#hello) return;
    this.executions.closeContexts();
    await this.#context.artifacts.takeLast(this, this.#leaving.signal);
  }

  /** The container ended by itself, or was found gone. */
  died(reason: string): void {
    if (this.#ready) this.#ready.reject(this.#diedAtStart(reason));
    else if (this.row.state === "ready" && !this.#ending) this.#ending = this.#die(reason);
  }

  async #die(reason: string): Promise<void> {
    this.#log.warn({ reason }, "container died");
    if (this.#hello) await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
    this.executions.end(reason, false);
    void this.#destroy();
    this.#setState({ state: "died", error: tableError("CONTAINER_DIED", reason) });
  }

  #diedAtStart(reason: string): SandbarError {
    // Log drivers are off, so an image of somebody else's that never said hello gets the likeliest explanation.
    if (this.row.spec.image && !this.#hello)
      return new SandbarError("IMAGE_UNSUPPORTED", `the image's python3 could not run the guest (${reason})`);
    return new SandbarError("SESSION_START_FAILED", `the container ended at its start: ${reason}`);
  }

  /** The sandbox does not obey: its container ends, and everything in it. */
  condemn(reason: string): void {
    this.#log.warn({ reason }, "ending a sandbox that does not obey");
    this.died(reason);
  }

  /** Journaled before it returns; the rest is waited for by those who make the box again. */
  #destroy(): Promise<void> {
    this.#leaving.abort();
    this.#hello = null;
    this.#calls.failAll("the session has ended");
    const box = this.#box ?? this.#makeBox();
    this.#box = null;
    if (this.#away) clearTimeout(this.#away);
    this.#away = null;
    return this.#context.removals.add(this.row.box, box, this.row.container);
  }
}

function stepTimes(steps: [string, number][]): Record<string, number> {
  const ends = [...steps.slice(1).map(([, at]) => at), performance.now()];
  return Object.fromEntries(steps.map(([step, at], i) => [step, Math.round(ends[i]! - at)]));
}

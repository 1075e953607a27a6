/**
 * One session on this host: what it is asked to do, and how it ends. Commands are journaled before they come here.
 *
 * @module
 */
import {
  type ArtifactEntry,
  type DaemonMessage,
  failureOf,
  type GuestAnswer,
  type GuestMessage,
  type GuestMethod,
  SandbarError,
  type SessionReport,
} from "@sandbar/shared";
import type { Ingested, Ledger } from "../artifacts/artifact-ingest.ts";
import { LeftArtifacts } from "../artifacts/left-artifacts.ts";
import { sessionFiles, sessionFolder } from "../box/box-folders.ts";
import type { Box } from "../engine/box.ts";
import { Execution, type ExecutionHost } from "../execution/execution.ts";
import { tableError } from "../execution/outcome.ts";
import type { ReportWindow } from "../execution/report-window.ts";
import type { SettledOutcomes } from "../execution/settled-outcomes.ts";
import type { GuestHello } from "../guest/guest-channel.ts";
import type { TransferSockets } from "../guest/transfer-sockets.ts";
import type { Config } from "../host/config.ts";
import type { Log } from "../host/log.ts";
import type { ExecutionRow, Journal, SessionRow } from "../journal/journal.ts";
import type { PooledBox } from "../pool/pooled-box.ts";
import type { SessionContext } from "./session-context.ts";
import { SessionDiary } from "./session-diary.ts";
import { type ExecutionsHost, SessionExecutions } from "./session-executions.ts";
import { SessionGuest } from "./session-guest.ts";
import { SessionReports } from "./session-reports.ts";
import { SessionStart } from "./session-start.ts";

/** What the guest wrote before its sandbox died is read first. */
const LAST_WORDS_MS = 200;
/** How long a stop waits for the artifacts to be safe; without a link it could not be told either, so that time does not count. */
const LAST_ARTIFACTS_MS = 30_000;
const LINK_LOOK_MS = 500;
/** How long it waits for the guest of an earlier daemon to dial. */
const LAST_HELLO_MS = 10_000;

export class Session implements ExecutionHost, ExecutionsHost {
  readonly row: SessionRow;
  readonly executions: SessionExecutions;
  readonly #context: SessionContext;
  readonly #log: Log;
  readonly #guest: SessionGuest;
  readonly #reports: SessionReports;
  readonly #start: SessionStart;
  /** Only sessions that leave a folder behind have one. */
  readonly #diary: SessionDiary | null;
  readonly #abort = new AbortController();
  /** The sandbox is about to be gone; what is on its way out of it has no time left. */
  readonly #leaving = new AbortController();
  #creating: Promise<void> | null = null;
  #ending: Promise<void> | null = null;
  /** An earlier daemon made the box. */
  #adopted = false;
  #drained = false;
  #congested = false;
  readonly window: ReportWindow;

  constructor(row: SessionRow, context: SessionContext, executions: ExecutionRow[] = []) {
    this.row = row;
    this.#context = context;
    this.#log = context.log.child({ session: row.id, box: row.box });
    this.#diary = row.spec.storage === "BIND" ? this.#openDiary() : null;
    this.#guest = new SessionGuest(context.config.callTimeoutMs, {
      onHello: (hello) => this.#onHello(hello),
      onMessage: (message) => this.#onMessage(message),
      onDown: () => this.executions.onGuestDown(),
      onLost: (reason) => this.condemn(reason),
    });
    this.window = context.windows.open(() => this.#pause());
    this.#reports = new SessionReports({
      row,
      journal: context.journal,
      link: context.link,
      onState: () => this.#diary?.onState(),
    });
    this.executions = new SessionExecutions(row.id, this);
    this.#start = new SessionStart({
      row,
      context,
      guest: this.#guest,
      reports: this.#reports,
      signal: this.#abort.signal,
      log: this.#log,
      makeBox: () => this.#makeBox(),
      openContext: (name, language) => this.executions.openContext(name, language),
    });
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
    return this.row.state === "ready" && this.#guest.hello !== null;
  }

  get terminal(): boolean {
    return this.#reports.terminal;
  }

  get sandbox(): string | null {
    return this.#guest.sandbox ?? this.row.sandbox;
  }

  get transfers(): TransferSockets {
    return this.#guest.channel.transfers;
  }

  get tunnels(): TransferSockets {
    return this.#guest.channel.tunnels;
  }

  get artifactTransfers(): TransferSockets {
    return this.#guest.channel.artifacts;
  }

  get env(): Record<string, string> {
    return this.row.spec.env;
  }

  get idleMs(): number {
    return this.row.spec.idle_ttl_s * 1000;
  }

  // Coming to be

  /** In a box of the pool, which is this session's from now on, or in one made for it. */
  create(pooled: PooledBox | null): void {
    if (pooled) this.#guest.livesIn(pooled.box);
    this.#creating = this.#create(pooled).catch((error) => this.#fail(error));
  }

  async #create(pooled: PooledBox | null): Promise<void> {
    const { hello, image, claimed } = await this.#start.run(pooled);
    this.#reports.set({ state: "ready", languages: hello.languages, image });
    if (claimed) this.executions.onHello(hello);
    else this.executions.pump();
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#abort.signal.aborted) return;
    const failure = failureOf(error, "SESSION_START_FAILED");
    this.#log.warn({ err: error }, "session could not be started");
    await this.#destroy();
    this.executions.end(failure.detail, false);
    this.#reports.set({ state: "failed", failure });
  }

  /** An earlier daemon began; no code has run in it yet, so the clean way is from the start. */
  recreate(leftovers: string[]): void {
    // What is cleared away here is not a death that concerns the new box.
    this.row.sandbox = null;
    this.#context.journal.saveSession(this.row);
    const cleared = async () => {
      for (const id of leftovers) await this.#context.engine.remove(id);
      await this.#makeBox().destroy();
    };
    this.#creating = cleared()
      .then(() => this.#create(null))
      .catch((error) => this.#fail(error));
  }

  /** The sandbox runs; its guest dials as soon as the socket is back. */
  async adopt(sandbox: string): Promise<void> {
    this.#adopted = true;
    await this.#guest.adopt(this.#makeBox(), sandbox);
    this.#log.info({ executions: this.executions.size }, "adopted");
  }

  #makeBox(): Box {
    const { box: id, spec, token } = this.row;
    const listener = this.#guest.boxListener();
    return this.#context.engine.box({ id, session: this.row, spec, token, log: this.#log, listener });
  }

  #openDiary(): SessionDiary {
    return new SessionDiary({
      row: this.row,
      folder: sessionFolder(this.config.sessionsRoot, this.row.id),
      log: this.#log,
      askState: (context) => this.call("state", { context }),
    });
  }

  // The guest

  toGuest(message: DaemonMessage): boolean {
    return this.#guest.send(message);
  }

  #onHello(hello: GuestHello): void {
    if (this.#start.pending) {
      this.#start.onHello(hello);
      return;
    }
    if (this.#adopted) this.#start.giveEnv();
    for (const { context, lost } of hello.contexts) this.#reports.lost(context, lost);
    this.executions.onHello(hello);
  }

  #onMessage(message: GuestMessage): void {
    if (message.type === "event") {
      const execution = this.executions.get(message.execution);
      if (execution && !execution.finished) this.#diary?.onEvent(message.execution, message.event);
      execution?.onEvent(message.event);
      if (execution && message.event.type === "done" && message.event.lost)
        this.#reports.lost(execution.context, null);
    } else if (message.type === "context") {
      this.#start.onContext(message);
      this.#reports.lost(message.context, message.lost);
    }
  }

  openContext(context: string, language: string): void {
    this.toGuest({ type: "context.open", context, language, env: this.row.spec.env });
  }

  pause(congested: boolean): void {
    this.#congested = congested;
    this.#pause();
  }

  #pause(): void {
    this.#guest.pause(this.#congested || this.window.full);
  }

  call<M extends GuestMethod>(
    method: M,
    params: Record<string, unknown>,
    timeoutMs?: number,
  ): Promise<GuestAnswer<M>> {
    return this.#guest.call(method, params, timeoutMs);
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

  // The control plane

  toServer(text: string): boolean {
    return this.#context.link.sendText(text);
  }

  inventory(brief: boolean): { session: string; report: SessionReport } {
    return this.#reports.inventory(brief);
  }

  onWelcome(): void {
    this.executions.onWelcome();
    this.#reports.onWelcome();
  }

  tell(): void {
    this.#reports.tell();
  }

  // Ceasing to be

  stop(reason: string): Promise<void> {
    this.#ending = (this.#ending ?? Promise.resolve()).then(() => this.#stop(reason));
    return this.#ending;
  }

  /** The host goes, whether there is a link or not. */
  drain(): Promise<void> {
    this.#drained = true;
    return this.stop("the host is drained");
  }

  async #stop(reason: string): Promise<void> {
    if (this.row.state === "stopped") {
      this.tell();
      return;
    }
    const began = performance.now();
    this.#abort.abort(new SandbarError("SESSION_STOPPED", reason));
    const leave = this.#leaveInTime();
    await this.executions.ingested();
    this.executions.end(`the session was stopped (${reason})`, true);
    await this.#creating;
    await this.#saveArtifacts();
    clearInterval(leave);
    this.toGuest({ type: "shutdown" });
    void this.#destroy();
    this.#log.info({ reason, ms: Math.round(performance.now() - began) }, "session stopped");
    this.#reports.set({ state: "stopped" });
  }

  #leaveInTime(): NodeJS.Timeout {
    let left = LAST_ARTIFACTS_MS;
    return setInterval(() => {
      if (this.linked || this.#drained) left -= LINK_LOOK_MS;
      if (left <= 0) this.#leaving.abort();
    }, LINK_LOOK_MS);
  }

  /** Kernels end first, so that nothing is still being written. */
  async #saveArtifacts(): Promise<void> {
    for (let waited = 0; this.#adopted && !this.#guest.hello && waited < LAST_HELLO_MS; waited += 20)
      await new Promise((resolve) => setTimeout(resolve, 20));
    if (!this.#guest.hello) {
      await this.#saveLeftArtifacts();
      return;
    }
    this.executions.closeContexts();
    await this.#context.artifacts.takeLast(this, this.#leaving.signal);
  }

  /** Of a sandbox whose guest cannot be asked any more; what became of them, in words. */
  async #saveLeftArtifacts(): Promise<string | null> {
    const { config, engine, artifacts } = this.#context;
    const folder = new LeftArtifacts(sessionFiles(config, this.row));
    const leave = this.#leaveInTime();
    try {
      if ((await folder.scan()).length === 0) return null;
      // Whatever still runs in there must not write any more.
      if (this.sandbox) await engine.remove(this.sandbox);
      return await artifacts.takeLeft(this, folder, await folder.scan(), this.#leaving.signal);
    } catch (error) {
      this.#log.warn({ err: error }, "could not look for what a dead sandbox left");
      return null;
    } finally {
      clearInterval(leave);
    }
  }

  /** The sandbox ended by itself, or was found gone. */
  died(reason: string): void {
    if (this.#start.pending) this.#start.died(reason);
    else if (this.row.state === "ready" && !this.#ending) this.#ending = this.#die(reason);
  }

  async #die(reason: string): Promise<void> {
    this.#log.warn({ reason }, "the sandbox died");
    if (this.#guest.hello) await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
    this.executions.end(reason, false);
    const saved = await this.#saveLeftArtifacts();
    // More may have come while that took its time.
    this.executions.end(reason, false);
    void this.#destroy();
    const told = saved ? `${reason}; ${saved}` : reason;
    this.#reports.set({ state: "died", error: tableError("CONTAINER_DIED", told) });
  }

  /** The sandbox does not obey: it ends, and everything in it. */
  condemn(reason: string): void {
    this.#log.warn({ reason }, "ending a sandbox that does not obey");
    this.died(reason);
  }

  /** Journaled before it returns; the rest is waited for by those who make the box again. */
  #destroy(): Promise<void> {
    this.#leaving.abort();
    const box = this.#guest.leave("the session has ended") ?? this.#makeBox();
    return this.#context.removals.add(this.row.box, box, this.row.sandbox);
  }
}

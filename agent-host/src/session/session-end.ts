/**
 * How a session ceases to be: stopped, dead, or never started. Its executions get their outcomes, what it left in
 * /session/artifacts is brought to safety, and its box goes.
 *
 * @module
 */
import { type Failure, SandbarError } from "@sandbar/shared";
import type { ArtifactIngest } from "../artifacts/artifact-ingest.ts";
import { LeftArtifacts } from "../artifacts/left-artifacts.ts";
import type { Box } from "../engine/box.ts";
import type { Removals } from "../engine/removals.ts";
import { tableError } from "../execution/outcome.ts";
import type { Log } from "../host/log.ts";
import type { SessionRow } from "../journal/journal.ts";
import type { SessionAccess } from "./session-access.ts";
import type { SessionExecutions } from "./session-executions.ts";
import type { SessionGuest } from "./session-guest.ts";
import type { SessionReports } from "./session-reports.ts";
import type { SessionStart } from "./session-start.ts";

/** What the guest wrote before its sandbox died is read first. */
const LAST_WORDS_MS = 200;
/** How long a stop waits for the artifacts to be safe; without a link it could not be told either, so that time does not count. */
const LAST_ARTIFACTS_MS = 30_000;
const LINK_LOOK_MS = 500;
/** How long it waits for the guest of an earlier daemon to dial. */
const LAST_HELLO_MS = 10_000;

export interface SessionEndOptions {
  readonly row: SessionRow;
  readonly start: Pick<SessionStart, "pending" | "settled" | "abort" | "died">;
  readonly guest: SessionGuest;
  readonly executions: SessionExecutions;
  readonly reports: SessionReports;
  readonly access: SessionAccess;
  readonly artifacts: Pick<ArtifactIngest, "takeLast" | "takeLeft">;
  readonly removals: Pick<Removals, "add">;
  readonly log: Log;
  /** The host's path of what the session knows as /session. */
  readonly files: string;
  makeBox(): Box;
  /** Whatever runs in the box, and no more than that. */
  removeSandbox(): Promise<void>;
  /** Its box is gone, or on its way out. */
  onOver(): void;
  /** Whether the control plane can be told of anything now. */
  linked(): boolean;
}

export class SessionEnd {
  readonly #options: SessionEndOptions;
  readonly #leaving = new AbortController();
  #ending: Promise<void> | null = null;
  #drained = false;

  constructor(options: SessionEndOptions) {
    this.#options = options;
  }

  /** Aborted when the sandbox is about to be gone: what is on its way out of it has no time left. */
  get leaving(): AbortSignal {
    return this.#leaving.signal;
  }

  stop(reason: string): Promise<void> {
    this.#ending = (this.#ending ?? Promise.resolve()).then(() => this.#stop(reason));
    return this.#ending;
  }

  /** The host goes, whether there is a link or not. */
  drain(): Promise<void> {
    this.#drained = true;
    return this.stop("the host is drained");
  }

  /** The sandbox ended by itself, or was found gone. */
  died(reason: string): void {
    const { row, start } = this.#options;
    if (start.pending) start.died(reason);
    else if (row.state === "ready" && !this.#ending) this.#ending = this.#die(reason);
  }

  /** It could not be started. */
  async fail(failure: Failure): Promise<void> {
    const { executions, reports, onOver } = this.#options;
    await this.#destroy();
    executions.end(failure.detail, false);
    reports.set({ state: "failed", failure });
    onOver();
  }

  async #stop(reason: string): Promise<void> {
    const { row, start, guest, executions, reports, onOver, log } = this.#options;
    if (row.state === "stopped") {
      reports.tell();
      return;
    }
    const began = performance.now();
    start.abort(new SandbarError("SESSION_STOPPED", reason));
    const leave = this.#leaveInTime();
    await executions.ingested();
    executions.end(`the session was stopped (${reason})`, true);
    await start.settled;
    await this.#saveArtifacts();
    clearInterval(leave);
    guest.send({ type: "shutdown" });
    const gone = this.#destroy();
    log.info({ reason, ms: Math.round(performance.now() - began) }, "session stopped");
    reports.set({ state: "stopped" });
    void gone.then(onOver);
  }

  async #die(reason: string): Promise<void> {
    const { guest, executions, reports, onOver, log } = this.#options;
    log.warn({ reason }, "the sandbox died");
    if (guest.hello) await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS));
    executions.end(reason, false);
    const saved = await this.#saveLeftArtifacts();
    // More may have come while that took its time.
    executions.end(reason, false);
    const gone = this.#destroy();
    const told = saved ? `${reason}; ${saved}` : reason;
    reports.set({ state: "died", error: tableError("CONTAINER_DIED", told) });
    void gone.then(onOver);
  }

  #leaveInTime(): NodeJS.Timeout {
    let left = LAST_ARTIFACTS_MS;
    return setInterval(() => {
      if (this.#options.linked() || this.#drained) left -= LINK_LOOK_MS;
      if (left <= 0) this.#leaving.abort();
    }, LINK_LOOK_MS);
  }

  /** Kernels end first, so that nothing is still being written. */
  async #saveArtifacts(): Promise<void> {
    const { guest, executions, artifacts, access } = this.#options;
    for (let waited = 0; guest.adopted && !guest.hello && waited < LAST_HELLO_MS; waited += 20)
      await new Promise((resolve) => setTimeout(resolve, 20));
    if (!guest.hello) {
      await this.#saveLeftArtifacts();
      return;
    }
    executions.closeContexts();
    await artifacts.takeLast(access, this.leaving);
  }

  /** Of a sandbox whose guest cannot be asked any more; what became of them, in words. */
  async #saveLeftArtifacts(): Promise<string | null> {
    const { artifacts, access, files, removeSandbox, log } = this.#options;
    const folder = new LeftArtifacts(files);
    const leave = this.#leaveInTime();
    try {
      if ((await folder.scan()).length === 0) return null;
      // Whatever still runs in there must not write any more.
      await removeSandbox();
      return await artifacts.takeLeft(access, folder, await folder.scan(), this.leaving);
    } catch (error) {
      log.warn({ err: error }, "could not look for what a dead sandbox left");
      return null;
    } finally {
      clearInterval(leave);
    }
  }

  /** Journaled before it returns; the rest is waited for by those who make the box again. */
  #destroy(): Promise<void> {
    const { row, guest, removals, makeBox } = this.#options;
    this.#leaving.abort();
    const box = guest.leave("the session has ended") ?? makeBox();
    return removals.add(row.box, box, row.sandbox);
  }
}

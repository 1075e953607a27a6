/** @module What the control plane hears of one session: its state, journaled first, and how far its creation is. */
import type { SessionReport } from "@sandbar/shared";
import type { Journal, SessionRow } from "./journal.ts";
import type { Upward } from "./link.ts";

export interface SessionReportsContext {
  readonly row: SessionRow;
  readonly journal: Journal;
  readonly link: Upward;
  onState(): void;
}

export class SessionReports {
  readonly #context: SessionReportsContext;
  readonly #steps: [string, number][] = [];
  #told = false;

  constructor(context: SessionReportsContext) {
    this.#context = context;
  }

  get terminal(): boolean {
    const { state } = this.#context.row;
    return state === "failed" || state === "died" || state === "stopped";
  }

  set(report: SessionReport): void {
    const { row, journal, onState } = this.#context;
    // A stop that was journaled meanwhile is not to be forgotten by a restart.
    if (row.state === "stopping" && report.state !== "stopped") return;
    row.state = report.state;
    row.report = report;
    journal.saveSession(row);
    onState();
    this.tell();
  }

  tell(): void {
    const { row, link } = this.#context;
    this.#told = link.send({ t: "session", session: row.id, report: row.report });
  }

  /** Its state goes out with the `hello` that is about to be sent. */
  inventory(): { session: string; report: SessionReport } {
    const { row } = this.#context;
    this.#told = !this.terminal;
    return { session: row.id, report: row.report };
  }

  onWelcome(): void {
    if (!this.#told || this.terminal) this.tell();
  }

  progress(step: string, detail: string): void {
    const { row, link } = this.#context;
    this.#steps.push([step, performance.now()]);
    link.send({ t: "progress", session: row.id, step, detail });
  }

  /** How long each step took, in milliseconds. */
  stepTimes(): Record<string, number> {
    const ends = [...this.#steps.slice(1).map(([, at]) => at), performance.now()];
    return Object.fromEntries(this.#steps.map(([step, at], i) => [step, Math.round(ends[i]! - at)]));
  }
}

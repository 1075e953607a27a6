/** @module What the control plane hears of one session: its state, journaled first, and how far its creation is. */
import { CONTEXT_LIMIT, type Loss, type Lost, type SessionReport } from "@sandbar/shared";
import type { Upward } from "../control-plane/link.ts";
import { lossReason } from "../execution/outcome.ts";
import { hasEnded, type Journal, type SessionRow } from "../journal/journal.ts";

export interface SessionReportsOptions {
  readonly row: SessionRow;
  readonly journal: Journal;
  readonly link: Upward;
  onState(): void;
}

export class SessionReports {
  readonly #options: SessionReportsOptions;
  readonly #steps: [string, number][] = [];
  /** By context: said to whoever listens, again and again, until an execution says it. */
  readonly #losses = new Map<string, Loss>();
  #told = false;

  constructor(options: SessionReportsOptions) {
    this.#options = options;
  }

  get terminal(): boolean {
    return hasEnded(this.#options.row);
  }

  set(report: SessionReport): void {
    const { row, journal, onState } = this.#options;
    // A stop that was journaled meanwhile is not to be forgotten by a restart.
    if (row.state === "stopping" && report.state !== "stopped") return;
    row.state = report.state;
    row.report = report;
    journal.saveSession(row);
    onState();
    this.tell();
  }

  tell(): void {
    const { row, link } = this.#options;
    this.#told = link.send({ t: "session", session: row.id, report: this.#report });
  }

  /** What the guest knows of a context's variables. */
  lost(context: string, lost: Lost | null | undefined): void {
    const at = lost && new Date(lost.at).toISOString();
    if (this.#losses.get(context)?.at === (at ?? undefined)) return;
    if (!lost || !at) {
      this.#losses.delete(context);
      return;
    }
    this.#losses.delete(context);
    this.#losses.set(context, { context, reason: lossReason(lost), at });
    // Contexts that were closed never run what would say it.
    const [oldest] = this.#losses.keys();
    if (oldest !== undefined && this.#losses.size > CONTEXT_LIMIT) this.#losses.delete(oldest);
    this.tell();
  }

  get #report(): SessionReport {
    const { report } = this.#options.row;
    if (report.state !== "ready" || this.#losses.size === 0) return report;
    return { ...report, lost: [...this.#losses.values()] };
  }

  /** Its state goes out with the `hello` that is about to be sent. */
  inventory(brief: boolean): { session: string; report: SessionReport } {
    const { row } = this.#options;
    this.#told = !brief && !this.terminal;
    return { session: row.id, report: brief ? { state: "creating" } : this.#report };
  }

  onWelcome(): void {
    if (!this.#told || this.terminal) this.tell();
  }

  progress(step: string, detail: string): void {
    const { row, link } = this.#options;
    this.#steps.push([step, performance.now()]);
    link.send({ t: "progress", session: row.id, step, detail });
  }

  /** How long each step took, in milliseconds. */
  stepTimes(): Record<string, number> {
    const ends = [...this.#steps.slice(1).map(([, at]) => at), performance.now()];
    return Object.fromEntries(this.#steps.map(([step, at], i) => [step, Math.round(ends[i]! - at)]));
  }
}

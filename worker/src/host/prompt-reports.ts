/**
 * Most cells end within a few milliseconds, so the session's call that brings a run is kept open for a moment, and
 * answered with the report when all of it comes in one. That saves the call that would bring it.
 *
 * @module
 */
import type { KernelEvent, Outcome } from "@sandbar/shared";

const PATIENCE_MS = 50;

/** All that is to be said of an execution. */
export interface PromptReport {
  readonly execution: string;
  readonly events: KernelEvent[];
  readonly outcome: Outcome;
}

export class PromptReports {
  readonly #waiting = new Map<string, { since: number; settle: (report: PromptReport | null) => void }>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** Null when the execution takes longer. */
  wait(execution: string): Promise<PromptReport | null> {
    this.#timer ??= setTimeout(() => this.#look(), PATIENCE_MS);
    return new Promise((settle) => this.#waiting.set(execution, { since: Date.now(), settle }));
  }

  /** Whether somebody has taken the report with the answer. */
  take(execution: string, events: KernelEvent[], outcome: Outcome | null): boolean {
    const waiting = this.#waiting.get(execution);
    if (!waiting) return false;
    this.#waiting.delete(execution);
    waiting.settle(outcome && { execution, events, outcome });
    return outcome !== null;
  }

  /** Whoever waited has gone: the report must find another way. */
  forget(execution: string): void {
    this.#waiting.get(execution)?.settle(null);
    this.#waiting.delete(execution);
  }

  /** One timer for all of them: a timer for each cell would be felt. */
  #look(): void {
    const long = Date.now() - PATIENCE_MS;
    for (const [execution, { since, settle }] of this.#waiting)
      if (since <= long) {
        this.#waiting.delete(execution);
        settle(null);
      }
    this.#timer = this.#waiting.size > 0 ? setTimeout(() => this.#look(), PATIENCE_MS) : null;
  }
}

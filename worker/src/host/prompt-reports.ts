/**
 * Most cells end within a few milliseconds and a warm box is ready in no more, so the session's call that brings a run
 * or a creation is kept open for a moment, and answered with what the daemon says. That saves the call that would
 * bring it.
 *
 * @module
 */
import type { KernelEvent, Outcome } from "@sandbar/shared";

/** All that is to be said of an execution. */
export interface PromptReport {
  readonly execution: string;
  readonly events: KernelEvent[];
  readonly outcome: Outcome;
}

export class Prompt<T> {
  readonly #patienceMs: number;
  readonly #waiting = new Map<string, { since: number; settle: (report: T | null) => void }>();
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor(patienceMs: number) {
    this.#patienceMs = patienceMs;
  }

  /** Null when it takes longer. */
  wait(id: string): Promise<T | null> {
    this.#timer ??= setTimeout(() => this.#look(), this.#patienceMs);
    return new Promise((settle) => this.#waiting.set(id, { since: Date.now(), settle }));
  }

  /** Whether somebody has taken the report with the answer. Null is a report that is not all there is to say. */
  take(id: string, report: T | null): boolean {
    const waiting = this.#waiting.get(id);
    if (!waiting) return false;
    this.#waiting.delete(id);
    waiting.settle(report);
    return report !== null;
  }

  /** Whoever waited has gone: the report must find another way. */
  forget(execution: string): void {
    this.#waiting.get(execution)?.settle(null);
    this.#waiting.delete(execution);
  }

  /** One timer for all of them: a timer for each cell would be felt. */
  #look(): void {
    const long = Date.now() - this.#patienceMs;
    for (const [id, { since, settle }] of this.#waiting)
      if (since <= long) {
        this.#waiting.delete(id);
        settle(null);
      }
    this.#timer = this.#waiting.size > 0 ? setTimeout(() => this.#look(), this.#patienceMs) : null;
  }
}

/** @module Outcomes whose sandbox is gone: reported until the control plane has them. */
import type { Outcome } from "@sandbar/shared";
import type { Journal } from "../journal/journal.ts";
import { reportFrames } from "./report.ts";

/** Beyond this many unwanted outcomes the oldest wait for the next start, which reads them from the journal. */
const HELD_LIMIT = 10_000;

export class SettledOutcomes {
  readonly #journal: Journal;
  readonly #send: (text: string) => boolean;
  readonly #outcomes = new Map<string, { session: string; outcome: Outcome }>();

  constructor(journal: Journal, send: (text: string) => boolean) {
    this.#journal = journal;
    this.#send = send;
  }

  add(session: string, execution: string, outcome: Outcome): void {
    const [oldest] = this.#outcomes.keys();
    if (oldest !== undefined && this.#outcomes.size >= HELD_LIMIT) this.#outcomes.delete(oldest);
    this.#outcomes.set(execution, { session, outcome });
  }

  report(execution: string): void {
    const held = this.#outcomes.get(execution);
    if (!held) return;
    for (const frame of reportFrames(held.session, execution, [], held.outcome)) this.#send(frame);
  }

  onWelcome(): void {
    for (const execution of this.#outcomes.keys()) this.report(execution);
  }

  onAck(execution: string, final: boolean): void {
    if (!final) return;
    this.#journal.executionAcked(execution);
    this.#outcomes.delete(execution);
  }

  /** The events went with the guest, so the record must do without them. */
  onResend(execution: string): void {
    const held = this.#outcomes.get(execution);
    if (!held) return;
    held.outcome = { ...held.outcome, last_seq: null };
    this.#journal.executionFinished(execution, held.outcome);
    this.report(execution);
  }
}

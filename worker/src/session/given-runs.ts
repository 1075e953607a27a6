/** @module Runs that were given out: those that the host has not taken yet, and those of which it has said nothing. */
import type { Answer } from "../answer.ts";
import { type Envelope, runEnvelope } from "./envelope.ts";
import type { ExecutionRow, Journal } from "./journal.ts";
import type { Records } from "./record.ts";

export class GivenRuns {
  readonly #records: Records;
  readonly #journal: Journal;
  readonly #accepting = new Map<string, Promise<Answer<string>>>();

  constructor(records: Records, journal: Journal) {
    this.#records = records;
    this.#journal = journal;
  }

  /** Until the host has taken it or refused, a second caller hears the same answer. */
  accept(id: string, accepting: Promise<Answer<string>>): Promise<Answer<string>> {
    this.#accepting.set(id, accepting);
    return accepting.finally(() => this.#accepting.delete(id));
  }

  accepting(id: string): Promise<Answer<string>> | undefined {
    return this.#accepting.get(id);
  }

  /** Resolves when it is known of each run that was submitted so far whether it was refused. */
  async accepted(): Promise<void> {
    await Promise.allSettled(this.#accepting.values());
  }

  /** Of a context, or of all: to be sent again, or taken along by what must not overtake them. */
  silent(context?: string): Envelope[] {
    return this.#journal
      .open(context)
      .filter(({ id, state, last_seq }) => state === "sent" && last_seq === 0 && !this.#accepting.has(id))
      .map((row) => ({ ...this.envelope(row), again: true }));
  }

  envelope(row: ExecutionRow): Envelope {
    return runEnvelope(this.#records.session!, row, this.#journal.request(row.id));
  }
}

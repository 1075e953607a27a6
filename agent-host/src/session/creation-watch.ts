/** @module How long a session's creation took here and what became of it, for figures and traces. */
import { type Cause, newSpanId, preciseNow, readTraceparent } from "@sandbar/shared";
import type { Watchers } from "../execution/stages.ts";
import type { SessionRow } from "../journal/journal.ts";

export class CreationWatch {
  readonly #watchers: Watchers;
  readonly #row: SessionRow;
  readonly #cause: Cause | undefined;
  /** Null when an earlier daemon began it. */
  #from: number | null = null;

  constructor(watchers: Watchers, row: SessionRow, cause: Cause | undefined) {
    this.#watchers = watchers;
    this.#row = row;
    this.#cause = cause;
  }

  began(): void {
    this.#from = preciseNow();
  }

  ready(claimed: boolean): void {
    if (this.#from === null) return;
    const from = claimed ? "pool" : "new";
    this.#watchers.figures.sessionStarted(from, preciseNow() - this.#from);
    this.#tell({ "sandbar.from": from });
  }

  failed(code: string): void {
    this.#watchers.figures.sessionFailed(code);
    this.#tell({}, code);
  }

  #tell(attributes: Record<string, string>, error?: string): void {
    const { spans } = this.#watchers;
    const parent = spans && readTraceparent(this.#cause?.traceparent);
    if (!parent || this.#from === null) return;
    spans.add({
      trace: parent.trace,
      span: newSpanId(),
      parent: parent.span,
      name: "daemon: make a session",
      from: this.#from,
      to: preciseNow(),
      attributes: {
        "sandbar.session": this.#row.id,
        "sandbar.request": this.#cause!.request,
        ...attributes,
      },
      ...(error !== undefined && { error }),
    });
  }
}

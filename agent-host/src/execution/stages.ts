/** @module Where the time of one execution goes: each stage begins where the one before it has ended. */
import { newSpanId, preciseNow, readTraceparent, type SpanExporter, traceparentOf } from "@sandbar/shared";
import type { Figures, Stage } from "../host/figures.ts";
import type { Run } from "../journal/journal.ts";

/** What of it stands in a trace. */
const SPAN_NAMES: Record<Stage, string> = {
  queue: "daemon: wait for its turn",
  start: "guest: begin",
  run: "kernel: run",
  artifacts: "daemon: artifacts",
  report: "daemon: report",
};

export interface Watchers {
  readonly figures: Figures;
  /** Null unless traces are exported. */
  readonly spans: SpanExporter | null;
}

export class Stages {
  readonly #watchers: Watchers;
  readonly #trace: Trace | null;
  /** Null when an earlier daemon has seen the beginning. */
  #at: number | null;

  constructor(watchers: Watchers, command: Run, adopted: boolean) {
    this.#watchers = watchers;
    const parent = watchers.spans && !adopted ? readTraceparent(command.cause?.traceparent) : null;
    this.#at = adopted ? null : preciseNow();
    this.#trace = parent && { parent, span: newSpanId(), kernel: newSpanId(), from: this.#at!, command };
  }

  /** By which code can go on with the trace. */
  get env(): Record<string, string> {
    if (!this.#trace) return {};
    const { parent, kernel } = this.#trace;
    return { TRACEPARENT: traceparentOf({ trace: parent.trace, span: kernel }) };
  }

  end(stage: Stage): void {
    const from = this.#at;
    const to = preciseNow();
    this.#at = to;
    if (from === null) return;
    this.#watchers.figures.stage(stage, to - from);
    if (!this.#trace) return;
    const { parent, span, kernel } = this.#trace;
    this.#watchers.spans!.add({
      trace: parent.trace,
      span: stage === "run" ? kernel : newSpanId(),
      parent: span,
      name: SPAN_NAMES[stage],
      from,
      to,
    });
  }

  /** The control plane has all of it. */
  told(status: string, failed: boolean): void {
    this.end("report");
    if (!this.#trace) return;
    const { parent, span, from, command } = this.#trace;
    this.#watchers.spans!.add({
      trace: parent.trace,
      span,
      parent: parent.span,
      name: "daemon: execution",
      from,
      to: this.#at!,
      attributes: {
        "sandbar.execution": command.execution,
        "sandbar.language": command.language,
        "sandbar.request": command.cause?.request,
        "sandbar.status": status,
      },
      ...(failed && { error: status }),
    });
  }
}

interface Trace {
  readonly parent: { readonly trace: string; readonly span: string };
  readonly span: string;
  readonly kernel: string;
  readonly from: number;
  readonly command: Run;
}

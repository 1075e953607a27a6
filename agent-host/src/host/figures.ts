/**
 * What the daemon counts, for Prometheus. Counting is an increment in memory; whatever can be looked at is looked at when
 * somebody asks (`agent-host/src/gauges.ts`). No label has a value that tenants or their code choose.
 *
 * @module
 */
import { errorCode, type Outcome } from "@sandbar/shared";
import { Counter, Histogram, Registry } from "prom-client";

/** Where an execution's time goes, in this order. */
export type Stage = "queue" | "start" | "run" | "artifacts" | "report";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800];
const SHORT = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1];

export class Figures {
  readonly registry = new Registry();
  readonly #executions = this.#counter("executions_total", "Executions that have ended", ["status", "code"]);
  readonly #stages = this.#histogram(
    "execution_stage_seconds",
    "Time of executions by stage: waiting for their turn, until the kernel begins, running, artifacts, until the control plane has it all",
    ["stage"],
    SECONDS,
  );
  readonly #starts = this.#histogram(
    "session_start_seconds",
    "Time from a session's creation to its first ready kernel, by where its box is from",
    ["from"],
    SECONDS,
  );
  readonly #failedStarts = this.#counter("session_start_failures_total", "Sessions that did not start", [
    "code",
  ]);
  readonly #claims = this.#counter(
    "pool_claims_total",
    "Sessions that a warm box fits, by whether one was ready",
    ["runtime", "result"],
  );
  readonly #artifacts = this.#counter("artifacts_total", "Artifacts that executions have left", []);
  readonly #artifactBytes = this.#counter("artifact_bytes_total", "Bytes of these artifacts", []);
  readonly #dials = this.#counter("link_dials_total", "Connections to the control plane that were begun", []);
  readonly #links = this.#counter(
    "link_welcomes_total",
    "Connections that the control plane has welcomed",
    [],
  );
  readonly #sent = this.#counter("link_sent_bytes_total", "Characters of messages to the control plane", []);
  readonly #received = this.#counter(
    "link_received_bytes_total",
    "Bytes of messages from the control plane",
    [],
  );
  readonly #writes = this.#histogram(
    "journal_write_seconds",
    "Time of statements that write the journal",
    [],
    SHORT,
  );

  ended(outcome: Pick<Outcome, "status" | "error" | "artifacts">): void {
    this.#executions.inc({ status: outcome.status, code: errorCode(outcome) ?? "" });
    if (outcome.artifacts.length === 0) return;
    this.#artifacts.inc(outcome.artifacts.length);
    this.#artifactBytes.inc(outcome.artifacts.reduce((sum, { size }) => sum + size, 0));
  }

  stage(stage: Stage, ms: number): void {
    this.#stages.observe({ stage }, ms / 1000);
  }

  sessionStarted(from: "pool" | "new", ms: number): void {
    this.#starts.observe({ from }, ms / 1000);
  }

  /** With a code of the error table. */
  sessionFailed(code: string): void {
    this.#failedStarts.inc({ code });
  }

  claimed(runtime: string, result: "hit" | "miss"): void {
    this.#claims.inc({ runtime, result });
  }

  dialled(): void {
    this.#dials.inc();
  }

  welcomed(): void {
    this.#links.inc();
  }

  sent(bytes: number): void {
    this.#sent.inc(bytes);
  }

  received(bytes: number): void {
    this.#received.inc(bytes);
  }

  journalWrote(ms: number): void {
    this.#writes.observe(ms / 1000);
  }

  #counter<L extends string>(name: string, help: string, labelNames: L[]): Counter<L> {
    return new Counter({ name: `sandbar_daemon_${name}`, help, labelNames, registers: [this.registry] });
  }

  #histogram<L extends string>(name: string, help: string, labelNames: L[], buckets: number[]): Histogram<L> {
    return new Histogram({
      name: `sandbar_daemon_${name}`,
      help,
      labelNames,
      buckets,
      registers: [this.registry],
    });
  }
}

/** @module Executions that the guest knows: their numbered events, kept until acknowledged and replayed on request. */
import type { DaemonMessage } from "../../../shared/src/wire/guest-messages.ts";
import { EXECUTIONS_REMEMBERED, RESUME_BYTES, UNACKED_BYTES } from "./limits.ts";

export type RunRequest = Extract<DaemonMessage, { type: "run" }>;

/** The context that an execution runs or waits in. */
interface Owner {
  interrupt(execution: Execution): void;
  kill(execution: Execution): void;
}

export class Execution {
  readonly id: string;
  request: RunRequest;
  context: Owner | null;
  seq = 0;
  kept: { seq: number; line: string }[] = [];
  ended = false;
  /** Its error has been told. */
  failed = false;
  /** After a redial nothing flows until the daemon said from where, or it would see a gap. */
  flowing = true;
  results = 0;
  mimeLeft: number;
  dropped = 0;
  /** MIME types of values that were left out, and how long the longest was. */
  readonly leftOut = new Map<string, number>();
  /** Of the longest text that was cut. */
  resultLength = 0;
  /** Of an error's value (`error`) and traceback, if they were cut. */
  readonly errorLengths: Record<string, number> = {};
  loss: object = {};

  constructor(context: Owner | null, request: RunRequest) {
    this.id = request.execution;
    this.request = request;
    this.context = context;
    this.mimeLeft = request.mime_total_limit;
  }
}

export class Journal {
  readonly #send: (line: string) => void;
  readonly #onRoom: () => void;
  readonly #known = new Map<string, Execution>();
  readonly #seen = new Set<string>();
  #bytes = 0;
  full = false;

  constructor(send: (line: string) => void, onRoom: () => void) {
    this.#send = send;
    this.#onRoom = onRoom;
  }

  /** Null when this id has been here before: code starts at most once. */
  admit(context: Owner | null, request: RunRequest): Execution | null {
    const id = request.execution;
    if (this.#seen.has(id)) return null;
    this.#seen.add(id);
    if (this.#seen.size > EXECUTIONS_REMEMBERED) this.#evict();
    const execution = new Execution(context, request);
    this.#known.set(id, execution);
    return execution;
  }

  find(id: string): Execution | null {
    return this.#known.get(id) ?? null;
  }

  inventory(): object[] {
    return Array.from(this.#known.values(), (e) => ({ execution: e.id, last_seq: e.seq, done: e.ended }));
  }

  holdAll(): void {
    for (const execution of this.#known.values()) execution.flowing = false;
  }

  event(execution: Execution, type: string, fields: object = {}): void {
    const seq = ++execution.seq;
    const line = `${JSON.stringify({ type: "event", execution: execution.id, event: { seq, type, ...fields } })}\n`;
    execution.kept.push({ seq, line });
    this.#bytes += line.length;
    if (this.#bytes > UNACKED_BYTES) this.full = true;
    if (execution.flowing) this.#send(line);
  }

  end(execution: Execution, fields: object): void {
    if (execution.ended) return;
    execution.ended = true;
    this.event(execution, "done", fields);
  }

  ack(id: string, seq: number, final: boolean): void {
    const execution = this.#known.get(id);
    if (!execution) return;
    let count = 0;
    for (const { seq: number, line } of execution.kept) {
      if (number > seq) break;
      this.#bytes -= line.length;
      count++;
    }
    execution.kept.splice(0, count);
    if (final && execution.ended) this.#forget(execution);
    if (this.full && this.#bytes < RESUME_BYTES) {
      this.full = false;
      this.#onRoom();
    }
  }

  replay(id: string, seq: number): void {
    const execution = this.#known.get(id);
    if (!execution) return;
    execution.flowing = true;
    for (const { seq: number, line } of execution.kept) if (number > seq) this.#send(line);
  }

  #forget(execution: Execution): void {
    for (const { line } of execution.kept) this.#bytes -= line.length;
    execution.kept = [];
    this.#known.delete(execution.id);
  }

  #evict(): void {
    for (const id of this.#seen) {
      const execution = this.#known.get(id);
      if (execution && !execution.ended) continue;
      this.#seen.delete(id);
      if (execution) this.#forget(execution);
      return;
    }
  }
}

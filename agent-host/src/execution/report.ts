/** @module Guest events as `report` frames: each event is serialised once, frames stay below the wire's limit. */
import { FRAME_LIMIT_BYTES, type KernelEvent, type Outcome } from "@sandbar/shared";

/** Room for the names, commas and braces around the events. */
const ENVELOPE_BYTES = 1024;

/** Several frames if need be, in order; the outcome rides on the last. */
export function reportFrames(
  session: string,
  execution: string,
  events: string[],
  outcome: Outcome | null,
  limit: number = FRAME_LIMIT_BYTES,
): string[] {
  const head = `{"t":"report","session":${JSON.stringify(session)},"execution":${JSON.stringify(execution)},"events":[`;
  const end = outcome ? JSON.stringify(outcome) : "null";
  const room = limit - ENVELOPE_BYTES - Buffer.byteLength(end);
  const frames: string[] = [];
  let held: string[] = [];
  let size = 0;
  for (const event of events) {
    const bytes = Buffer.byteLength(event) + 1;
    if (held.length && size + bytes > room) {
      frames.push(`${head}${held.join(",")}],"outcome":null}`);
      held = [];
      size = 0;
    }
    held.push(event);
    size += bytes;
  }
  // One event may be larger than the room beside a large outcome.
  if (held.length && size > room) {
    frames.push(`${head}${held.join(",")}],"outcome":null}`);
    held = [];
  }
  frames.push(`${head}${held.join(",")}],"outcome":${end}}`);
  return frames;
}

/**
 * Collects one execution's events between frames. The first few milliseconds are held back, so that a short cell is one
 * frame and one write on the other side; later events leave at once, but at most one frame per interval.
 */
export class ReportBatch {
  readonly #send: (events: string[], outcome: Outcome | null) => void;
  readonly #intervalMs: number;
  #events: string[] = [];
  #timer: NodeJS.Timeout | NodeJS.Immediate | null = null;
  #lastFlush: number;

  constructor(send: (events: string[], outcome: Outcome | null) => void, intervalMs = 5) {
    this.#send = send;
    this.#intervalMs = intervalMs;
    this.#lastFlush = performance.now();
  }

  add(event: KernelEvent): void {
    if (this.#events.length === 0) {
      const now = performance.now();
      // `started` is the first sign of life: the interval counts from it.
      if (event.type === "started") this.#lastFlush = now;
      const wait = this.#intervalMs - (now - this.#lastFlush);
      this.#timer =
        wait > 0 ? setTimeout(() => this.flush(null), wait) : setImmediate(() => this.flush(null));
    }
    this.#events.push(JSON.stringify(event));
  }

  flush(outcome: Outcome | null): void {
    const events = this.#events;
    this.clear();
    this.#lastFlush = performance.now();
    if (events.length || outcome) this.#send(events, outcome);
  }

  /** No more events will come: those that are here wait for the outcome, but not for longer than this. */
  hold(ms: number): void {
    this.#disarm();
    if (this.#events.length > 0) this.#timer = setTimeout(() => this.flush(null), ms);
  }

  clear(): void {
    this.#events = [];
    this.#disarm();
  }

  #disarm(): void {
    if (this.#timer) {
      clearTimeout(this.#timer as NodeJS.Timeout);
      clearImmediate(this.#timer as NodeJS.Immediate);
    }
    this.#timer = null;
  }
}

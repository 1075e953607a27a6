/** @module A run's events as server-sent events, from any point on. */

import type { Signal } from "@sandbar/worker/src/session/signal.ts";
import { type SseChunk, sseStream } from "@sandbar/worker/src/session/sse.ts";
import type { StreamMode } from "../api/shapes.ts";
import type { EventLog, LoggedEvent } from "./event-log.ts";
import { isOver, type Runs } from "./runs.ts";

export interface RunStreamParts {
  readonly runs: Runs;
  readonly log: EventLog;
  readonly signal: Signal;
  allowed(): Promise<boolean>;
  /** The reader has gone. */
  left(): void;
  readonly keepAliveMs?: number;
}

export function runStream(
  { runs, log, signal, allowed, left, keepAliveMs }: RunStreamParts,
  run_id: string,
  after: number,
  modes: readonly StreamMode[] | null,
): ReadableStream<Uint8Array> {
  const wanted = (event: LoggedEvent) => modes === null || modes.some((mode) => belongs(event.event, mode));
  return sseStream(
    {
      read(cursor): SseChunk | null {
        const run = runs.find(run_id);
        const over = !run || isOver(run);
        const events = log.read(run_id, cursor);
        const last = events.at(-1)?.id ?? cursor;
        const done = over && last >= log.last(run_id);
        if (events.length === 0 && !done) return null;
        return { text: events.filter(wanted).map(lines).join(""), cursor: last, done };
      },
      wait: (timeoutMs) => signal.wait(run_id, timeoutMs),
      allowed,
      closed: left,
      keepAliveMs,
    },
    after,
  );
}

const lines = ({ id, event, data }: LoggedEvent) => `id: ${id}\nevent: ${event}\ndata: ${data}\n\n`;

/** What it is about, and how it ended, every reader is told. */
export function belongs(event: string, mode: StreamMode): boolean {
  const [name] = event.split("|");
  if (name === "metadata" || name === "error") return true;
  if (mode === "messages-tuple") return name === "messages";
  if (mode === "messages") return name!.startsWith("messages/");
  return name === mode;
}

/** @module What all runs of a thread say, one after the other, for as long as somebody reads. */
import type { Signal } from "@sandbar/worker/src/session/signal.ts";
import { type SseChunk, sseStream } from "@sandbar/worker/src/session/sse.ts";
import type { EventLog } from "./event-log.ts";

export const THREAD_TOPIC = "thread";

/** The number of a run, and one of its events. Readers know it as `run-id`. */
export interface ThreadCursor {
  readonly run: number;
  readonly id: number;
}

export interface ThreadStreamParts {
  readonly log: EventLog;
  readonly signal: Signal;
  /** Whether the thread has not been deleted. */
  there(): boolean;
  allowed(): Promise<boolean>;
}

export function threadStream(
  { log, signal, there, allowed }: ThreadStreamParts,
  after: ThreadCursor,
  lifecycle: boolean,
): ReadableStream<Uint8Array> {
  const wanted = ({ event }: { event: string }) => !lifecycle || event === "metadata" || event === "error";
  return sseStream<ThreadCursor>(
    {
      read(cursor): SseChunk<ThreadCursor> | null {
        if (!there()) return { text: "", cursor, done: true };
        const events = log.readAll(cursor);
        const last = events.at(-1);
        if (!last) return null;
        const text = events
          .filter(wanted)
          .map(({ run, id, event, data }) => `id: ${run}-${id}\nevent: ${event}\ndata: ${data}\n\n`)
          .join("");
        return { text, cursor: { run: last.run, id: last.id }, done: false };
      },
      wait: (timeoutMs) => signal.wait(THREAD_TOPIC, timeoutMs),
      allowed,
    },
    after,
  );
}

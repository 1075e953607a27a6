/**
 * Server-sent events pulled from a log. Each reader has only a cursor: nothing is read before the reader has
 * taken what came before, so a slow one costs no memory and slows nobody.
 *
 * @module
 */

import { type Refusal, refuse } from "../answer.ts";
import { RECHECK_MS } from "../recheck.ts";

const KEEP_ALIVE_MS = 15_000;
const RETRY_MS = 1_000;

export interface SseChunk<Cursor = number> {
  readonly text: string;
  readonly cursor: Cursor;
  /** Nothing comes after this. */
  readonly done: boolean;
}

export interface SseSource<Cursor = number> {
  /** What follows the cursor, or null when nothing does yet. */
  read(cursor: Cursor): SseChunk<Cursor> | null | Promise<SseChunk<Cursor>>;
  /** Resolves to true when there may be more, to false after the time. */
  wait(timeoutMs: number): Promise<boolean>;
  /** Whether the reader may still read; asked every few seconds. */
  allowed?(): Promise<boolean>;
  closed?(): void;
  /** That a reader has gone shows only when something is written to it. */
  readonly keepAliveMs?: number;
}

export function sseStream<Cursor>(source: SseSource<Cursor>, after: Cursor): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let cursor = after;
  // Without the empty line, which ends an event: LangGraph's client takes one that says nothing for an event too.
  let preamble = `retry: ${RETRY_MS}\n`;
  let cancelled = false;
  let checkedAt = Date.now();
  let quietMs = 0;
  const { keepAliveMs = KEEP_ALIVE_MS } = source;
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      const say = (text: string) => {
        quietMs = 0;
        controller.enqueue(encoder.encode(text));
      };
      const end = () => {
        source.closed?.();
        controller.close();
        // A byte stream with a pending BYOB read closes only when that read is answered.
        controller.byobRequest?.respond(0);
      };
      while (!cancelled) {
        if (source.allowed && Date.now() - checkedAt >= RECHECK_MS) {
          if (!(await source.allowed())) return cancelled ? undefined : end();
          checkedAt = Date.now();
        }
        // Not awaited in vain: between a null and the wait nothing may happen that goes unnoticed.
        const found = source.read(cursor);
        const chunk = found instanceof Promise ? await found : found;
        if (chunk || preamble) {
          const text = preamble + (chunk?.text ?? "");
          preamble = "";
          if (text) say(text);
          if (chunk) cursor = chunk.cursor;
          if (chunk?.done) end();
          return;
        }
        const wait = source.allowed ? Math.min(RECHECK_MS, keepAliveMs) : keepAliveMs;
        if (await source.wait(wait)) continue;
        quietMs += wait;
        if (quietMs >= keepAliveMs && !cancelled) return say(": keep-alive\n");
      }
    },
    cancel() {
      cancelled = true;
      source.closed?.();
    },
  });
}

/** Whoever names an event that has not been would wait for nothing, or miss what comes until then. */
export function refuseBeyond(last: number): Refusal {
  const message = `is beyond the last event, ${last}`;
  return refuse("VALIDATION_FAILED", `Last-Event-ID ${message}`, {
    errors: [{ path: "Last-Event-ID", message }],
  });
}

export function sseEvent(id: number | string, event: string, data: unknown): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/**
 * Server-sent events pulled from a log. Each reader has only a cursor: nothing is read before the reader has
 * taken what came before, so a slow one costs no memory and slows nobody.
 *
 * @module
 */

const KEEP_ALIVE_MS = 15_000;
const RETRY_MS = 1_000;

export interface SseChunk {
  readonly text: string;
  readonly cursor: number;
  /** Nothing comes after this. */
  readonly done: boolean;
}

export interface SseSource {
  /** What follows the cursor, or null when nothing does yet. */
  read(cursor: number): SseChunk | null | Promise<SseChunk>;
  /** Resolves to true when there may be more, to false after the time. */
  wait(timeoutMs: number): Promise<boolean>;
  closed?(): void;
}

export function sseStream(source: SseSource, after: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let cursor = after;
  let preamble = `retry: ${RETRY_MS}\n\n`;
  let cancelled = false;
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      while (!cancelled) {
        // Not awaited in vain: between a null and the wait nothing may happen that goes unnoticed.
        const found = source.read(cursor);
        const chunk = found instanceof Promise ? await found : found;
        if (chunk || preamble) {
          const text = preamble + (chunk?.text ?? "");
          preamble = "";
          if (text) controller.enqueue(encoder.encode(text));
          if (chunk) cursor = chunk.cursor;
          if (chunk?.done) {
            source.closed?.();
            controller.close();
            // A byte stream with a pending BYOB read closes only when that read is answered.
            controller.byobRequest?.respond(0);
          }
          return;
        }
        if (!(await source.wait(KEEP_ALIVE_MS)) && !cancelled) {
          controller.enqueue(encoder.encode(": keep-alive\n\n"));
          return;
        }
      }
    },
    cancel() {
      cancelled = true;
      source.closed?.();
    },
  });
}

export function sseEvent(id: number, event: string, data: unknown): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

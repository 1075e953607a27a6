/** @module Request bodies that nobody wants any more. */
import { readWithin } from "./read-within.ts";

/**
 * What is on its way is read before the answer, because many a client that is cut while it writes never reads why.
 * One that has more to send, or stops sending, is answered without, and the runtime closes its connection.
 */
const DRAIN_BYTES = 128 * 1024 * 1024;
const DRAIN_MS = 10_000;
const PAUSE_MS = 500;

export async function drain(body: ReadableStream<Uint8Array> | null, declared = 0): Promise<void> {
  if (!body || body.locked || declared > DRAIN_BYTES) return;
  const reader = body.getReader();
  const until = Date.now() + DRAIN_MS;
  try {
    for (let left = DRAIN_BYTES; left > 0; ) {
      const next = await readWithin(reader, Math.min(PAUSE_MS, until - Date.now()));
      if (next?.done) return;
      if (!next) break;
      left -= next.value.byteLength;
    }
    await reader.cancel();
  } catch {
    // It was cut, which is all the same now.
  }
}

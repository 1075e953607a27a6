/** @module Request bodies that nobody wants any more. */

/**
 * As much as a request may have is read to its end, because a client that is cut while
 * it writes never reads why. One that takes its time is cut all the same.
 */
const DRAIN_BYTES = 128 * 1024 * 1024;
const DRAIN_MS = 20_000;

export async function drain(body: ReadableStream<Uint8Array> | null): Promise<void> {
  if (!body || body.locked) return;
  const reader = body.getReader();
  let left = DRAIN_BYTES;
  const until = Date.now() + DRAIN_MS;
  const late = setTimeout(() => reader.cancel().catch(() => {}), DRAIN_MS);
  try {
    while (left > 0 && Date.now() < until) {
      const { done, value } = await reader.read();
      if (done) return;
      left -= value.byteLength;
    }
    await reader.cancel();
  } catch {
    // It was cut, which is all the same now.
  } finally {
    clearTimeout(late);
  }
}

/**
 * JSON that may be long in coming, as the value of a run that is waited for: white space comes first, again and again, so
 * that nobody on the way takes the silence for an end, and so that it shows when the reader has gone.
 *
 * @module
 */
const EVERY_MS = 15_000;

export function patientJson(
  work: Promise<string>,
  { everyMs = EVERY_MS, left = () => {} }: { everyMs?: number; left?: () => void } = {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const done = work.then((text) => ({ text }));
  // Whoever reads is told; before that it is nobody's rejection.
  done.catch(() => {});
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const pause = new Promise<null>((resolve) => {
        timer = setTimeout(resolve, everyMs, null);
      });
      const found = await Promise.race([done, pause]).finally(() => clearTimeout(timer));
      controller.enqueue(encoder.encode(found?.text ?? " "));
      if (!found) return;
      controller.close();
      // A byte stream with a pending BYOB read closes only when that read is answered.
      controller.byobRequest?.respond(0);
    },
    cancel: left,
  });
}

/** @module A fetch that goes straight into this Worker's own routes, for the SDK's client. */

import type { Env } from "../env.ts";
import type { App } from "../openapi.ts";

export function inProcessFetch(app: App, origin: string, env: Env, ctx: ExecutionContext): typeof fetch {
  const own = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    const { signal, ...rest } = init;
    const request = new Request(input, rest);
    // A link may lead to R2.
    if (new URL(request.url).origin !== origin) return fetch(input, init);
    signal?.throwIfAborted();
    const response = await unlessAborted(Promise.resolve(app.fetch(request, env, ctx)), signal);
    const location = response.headers.get("Location");
    if (response.status >= 300 && response.status < 400 && location)
      return fetch(new URL(location, origin), { signal });
    if (!signal || !response.body) return response;
    return new Response(endedBy(signal, response.body), response);
  };
  return own as typeof fetch;
}

/** Nothing on the way would notice the signal otherwise. */
function endedBy(signal: AbortSignal, source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let onAbort = () => {};
  return new ReadableStream({
    start(controller) {
      onAbort = () => {
        controller.error(signal.reason);
        reader.cancel(signal.reason).catch(() => {});
      };
      signal.addEventListener("abort", onAbort, { once: true });
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (signal.aborted) return;
      if (!done) return controller.enqueue(value);
      signal.removeEventListener("abort", onAbort);
      controller.close();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return work;
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

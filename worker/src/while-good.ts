/**
 * What a caller has open ends with its credential. Streams and tunnels that an object holds ask by themselves
 * (`stillGood`); here is what a request itself holds: one that waits, and bytes on their way out of the store.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./app-env.ts";
import { type Caller, stillGood } from "./auth.ts";
import { RECHECK_MS } from "./recheck.ts";

/** Asks every few seconds, until it is told to stop. */
function whenRevoked(c: Context<AppEnv>, then: () => void): () => void {
  // Whoever has a link has no key.
  const credential = (c.get("caller") as Caller | undefined)?.credential;
  if (credential === undefined) return () => {};
  let stopped = false;
  const check = async () => {
    if (stopped) return;
    if (await stillGood(c.env.DB, credential)) timer = setTimeout(check, RECHECK_MS);
    else then();
  };
  let timer = setTimeout(check, RECHECK_MS);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

/** A request that waits long is refused when its key is revoked meanwhile. */
export const whileGood = createMiddleware<AppEnv>(async (c, next) => {
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = whenRevoked(c, () =>
    reject(
      new SandbarError("UNAUTHENTICATED", "The key was revoked, or has expired, while the request waited"),
    ),
  );
  try {
    await Promise.race([next(), promise]);
  } finally {
    stop();
  }
});

/** Aborts when the key is revoked before what is under way is over. */
export function untilRevoked(c: Context<AppEnv>): { signal: AbortSignal; over: () => void } {
  const abort = new AbortController();
  const over = whenRevoked(c, () => abort.abort(new Error("the key was revoked, or has expired")));
  return { signal: abort.signal, over };
}

/** Bytes that break off when the key is revoked. The runtime moves them by itself. */
export function bytesWhileGood(
  c: Context<AppEnv>,
  bytes: ReadableStream<Uint8Array>,
  length?: number,
): ReadableStream<Uint8Array> {
  const { readable, writable } =
    length === undefined ? new IdentityTransformStream() : new FixedLengthStream(length);
  const { signal, over } = untilRevoked(c);
  // Whoever reads sees the same failure.
  const piped = bytes.pipeTo(writable, { signal }).catch(() => {});
  c.executionCtx.waitUntil(piped.finally(over));
  return readable;
}

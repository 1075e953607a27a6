/** @module Reads a JSON body whole and bounded, before any handler looks at it. */
import { JSON_BODY_LIMIT_BYTES, SandbarError } from "@sandbar/shared";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./app-env.ts";
import { bodyIdleMs } from "./env.ts";
import { readWithin, within } from "./read-within.ts";

// The same as Hono's, whose validator takes any other body for an empty one.
const JSON_TYPE = /^application\/([a-z-.]+\+)?json(;\s*[a-zA-Z0-9-]+=([^;]+))*$/i;
/** Of whoever has not shown yet who it is: many of them must not fill the memory. */
const STRANGER_LIMIT_BYTES = 64 * 1024;
const AT_ONCE_BYTES = 256 * 1024;
const SLOWEST_BYTES_PER_S = 16 * 1024;

export const jsonBody = createMiddleware<AppEnv>(async (c, next) => {
  const limit = c.get("caller") || c.get("host") ? JSON_BODY_LIMIT_BYTES : STRANGER_LIMIT_BYTES;
  const bytes = await readBody(c.req.raw, limit, bodyIdleMs(c.env));
  if (!bytes) throw new SandbarError("PAYLOAD_TOO_LARGE", `A JSON body may have ${limit} bytes here`);
  const type = c.req.header("Content-Type");
  if (bytes.length > 0) {
    if (!type || !JSON_TYPE.test(type))
      throw new SandbarError("UNSUPPORTED_MEDIA_TYPE", `The Content-Type is ${type ?? "missing"}`);
  }
  // Hono's validators take the body from this cache; without a type it must be empty, or they refuse it.
  const text = bytes.length === 0 && !type ? "" : bodyText(bytes);
  c.req.bodyCache.text = Promise.resolve(text) as never;
  await next();
});

/** Null when the body is larger than `limit`, which its length may say before a byte of it has come. */
export async function readBody(request: Request, limit: number, idleMs: number): Promise<Uint8Array | null> {
  if (!request.body) return new Uint8Array();
  const declared = Number(request.headers.get("Content-Length") ?? Number.POSITIVE_INFINITY);
  if (Number.isFinite(declared) && declared > limit) return null;
  try {
    // Reading at once is cheaper, and HTTP holds a body to its declared length.
    if (declared > AT_ONCE_BYTES) return await readBounded(request.body, limit, idleMs);
    const bytes = await within(request.arrayBuffer(), idleMs);
    if (!bytes) throw stalled(idleMs);
    return new Uint8Array(bytes);
  } catch (error) {
    if (error instanceof SandbarError) throw error;
    throw new SandbarError("INVALID_JSON", "The body could not be read: its framing is broken");
  }
}

/** Null when the stream has more than `limit`. */
async function readBounded(
  stream: ReadableStream<Uint8Array>,
  limit: number,
  idleMs: number,
): Promise<Uint8Array | null> {
  const reader = stream.getReader();
  const chunks: Uint8Array[] = [];
  const begun = Date.now();
  let length = 0;
  for (;;) {
    // Neither a pause nor a trickle of bytes holds a request open.
    const left = begun + idleMs + (length / SLOWEST_BYTES_PER_S) * 1000 - Date.now();
    const next = await readWithin(reader, Math.min(idleMs, left));
    if (!next) throw stalled(idleMs);
    if (next.done) break;
    length += next.value.byteLength;
    if (length > limit) {
      reader.releaseLock();
      return null;
    }
    chunks.push(next.value);
  }
  if (chunks.length === 1) return chunks[0]!;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

const stalled = (idleMs: number) =>
  new SandbarError("REQUEST_TIMEOUT", `The body stopped coming for ${idleMs / 1000} s, or came too slowly`);

export function bodyText(bytes: Uint8Array): string {
  // An empty body means a request without fields.
  if (bytes.length === 0) return "{}";
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new SandbarError("INVALID_JSON", "The body is not UTF-8");
  }
}

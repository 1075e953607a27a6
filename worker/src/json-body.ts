/** @module Reads a JSON body whole and bounded, before any handler looks at it. */
import { JSON_BODY_LIMIT_BYTES, SandbarError } from "@sandbar/shared";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "./app-env.ts";

// The same as Hono's, whose validator takes any other body for an empty one.
const JSON_TYPE = /^application\/([a-z-.]+\+)?json(;\s*[a-zA-Z0-9-]+=([^;]+))*$/i;

/** The body must be read to its end in any case: a connection with unread bytes cannot be kept alive. */
export const jsonBody = createMiddleware<AppEnv>(async (c, next) => {
  const bytes = await readBody(c.req.raw);
  if (!bytes)
    throw new SandbarError("PAYLOAD_TOO_LARGE", `A JSON body may have ${JSON_BODY_LIMIT_BYTES} bytes`);
  const type = c.req.header("Content-Type");
  if (bytes.length > 0) {
    if (!type || !JSON_TYPE.test(type))
      throw new SandbarError("UNSUPPORTED_MEDIA_TYPE", `The Content-Type is ${type ?? "missing"}`);
  }
  // Hono's validators take the body from this cache; without a type it must be empty, or they refuse it.
  const text = bytes.length === 0 && !type ? "" : decode(bytes);
  c.req.bodyCache.text = Promise.resolve(text) as never;
  await next();
});

/** Null when the body is too large. */
async function readBody(request: Request): Promise<Uint8Array | null> {
  if (!request.body) return new Uint8Array();
  // Reading at once is cheaper, and HTTP holds a body to its declared length; what was read is measured all the same.
  const declared = Number(request.headers.get("Content-Length") ?? Number.POSITIVE_INFINITY);
  if (!(declared <= JSON_BODY_LIMIT_BYTES)) return readBounded(request.body, JSON_BODY_LIMIT_BYTES);
  const bytes = new Uint8Array(await request.arrayBuffer());
  return bytes.length > JSON_BODY_LIMIT_BYTES ? null : bytes;
}

/** Null when the stream has more than `limit`; it is drained all the same. */
export async function readBounded(
  stream: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.byteLength;
    if (length <= limit) chunks.push(chunk);
    else chunks.length = 0;
  }
  if (length > limit) return null;
  if (chunks.length === 1) return chunks[0]!;
  const whole = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function decode(bytes: Uint8Array): string {
  // An empty body means a request without fields.
  if (bytes.length === 0) return "{}";
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    throw new SandbarError("INVALID_JSON", "The body is not UTF-8");
  }
}

/** @module Headers and ids as the routes read them. */
import { idSchema, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { maxBodyBytes } from "../artifacts/settings.ts";
import { askedFor, sessionObject } from "../rpc.ts";
import { tooLarge } from "../transfer/transfers.ts";

const SessionId = idSchema("ses");

/** The caller's session of this id. A malformed id is simply missing, as is another tenant's. */
export function callersSession(c: Context<AppEnv>, id: string) {
  if (!SessionId.safeParse(id).success) throw new SandbarError("NOT_FOUND", "No such session");
  return askedFor(sessionObject(c.env, c.get("caller").tenant, id), c.get("cause"));
}

/** `Prefer: respond-async` (RFC 7240). */
export function prefersAsync(c: Context<AppEnv>): boolean {
  return /(^|,)\s*respond-async\s*(;|,|$)/i.test(c.req.header("Prefer") ?? "");
}

/** What the caller takes: JSON unless it names the event stream first, or alone. */
export function wantsEvents(c: Context<AppEnv>): boolean {
  const accept = c.req.header("Accept");
  if (!accept) return false;
  for (const part of accept.split(",")) {
    const type = part.split(";")[0]!.trim().toLowerCase();
    if (type === "text/event-stream") return true;
    if (type === "application/json" || type === "application/*" || type === "*/*") return false;
  }
  throw new SandbarError("NOT_ACCEPTABLE", `Accept is ${accept.slice(0, 200)}`);
}

export function idempotencyKey(c: Context<AppEnv>): string | null {
  const key = c.req.header("Idempotency-Key");
  if (key === undefined) return null;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw new SandbarError("VALIDATION_FAILED", "Idempotency-Key must be 1 to 255 visible ASCII characters", {
      errors: [{ path: "Idempotency-Key", message: "must be 1 to 255 visible ASCII characters" }],
    });
  return key;
}

/** Where a reader of events left off: the header that browsers send, or the query. */
export function lastEventIdText(c: Context<AppEnv>): string {
  return c.req.header("Last-Event-ID") ?? c.req.query("last_event_id") ?? "";
}

export function lastEventId(c: Context<AppEnv>): number {
  const id = lastEventIdText(c);
  if (id === "") return 0;
  if (!/^\d{1,15}$/.test(id))
    throw new SandbarError("VALIDATION_FAILED", "Last-Event-ID must be the id of an event", {
      errors: [{ path: "Last-Event-ID", message: "must be the id of an event" }],
    });
  return Number(id);
}

/** Of every answer. */
export const usualHeaders = (requestId: string) => ({
  "X-Request-Id": requestId,
  "X-Content-Type-Options": "nosniff",
});

export function eventStream(
  stream: ReadableStream<Uint8Array>,
  headers: Record<string, string> = {},
): Response {
  return new Response(stream, {
    headers: {
      "Content-Type": "text/event-stream; charset=utf-8",
      "Cache-Control": "no-store",
      "X-Accel-Buffering": "no",
      ...headers,
    },
  });
}

/** Of the body, null when the client does not say. Checked before a byte is read. */
export function bodySize(c: Context<AppEnv>): number | null {
  const header = c.req.header("Content-Length");
  if (c.req.raw.body === null) return 0;
  if (header === undefined) return null;
  const size = Number(header);
  const most = maxBodyBytes(c.env);
  if (size > most) throw tooLarge(most);
  return size;
}

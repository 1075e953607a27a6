/** @module What every route finds in its context, and how it reads what it is given. */
import { type AgentCall, readJson, SandbarError } from "@sandbar/shared";
import type { Context, Hono } from "hono";
import type { Env } from "../env.ts";

export interface ApiEnv {
  Bindings: Env & { CALL: AgentCall };
}
export type Api = Hono<ApiEnv>;

/** The body as its schema has it. */
export async function body<T>(
  c: Context<ApiEnv>,
  schema: { safeParse(value: unknown): SafeParse<T> },
): Promise<T> {
  const value = readJson((await c.req.text()) || "{}");
  if (value === null || typeof value !== "object")
    throw new SandbarError("INVALID_JSON", "The body is no JSON object");
  return checked(schema.safeParse(value));
}

type SafeParse<T> =
  | { success: true; data: T }
  | { success: false; error: { issues: { path: PropertyKey[]; message: string }[] } };

export function checked<T>(parsed: SafeParse<T>): T {
  if (parsed.success) return parsed.data;
  const errors = parsed.error.issues.slice(0, 20).map(({ path, message }) => ({
    path: path.map(String).join(".").slice(0, 200),
    message: message.slice(0, 500),
  }));
  throw new SandbarError("VALIDATION_FAILED", `${errors[0]?.path}: ${errors[0]?.message}`, { errors });
}

export const jsonText = (text: string) =>
  new Response(text, { headers: { "Content-Type": "application/json" } });

export const EVENT_STREAM = {
  "Content-Type": "text/event-stream; charset=utf-8",
  "Cache-Control": "no-store",
  "X-Accel-Buffering": "no",
};

/** Only the fields that were asked for, when any were. */
export function picked<T extends object>(value: T, fields: readonly string[] | null | undefined): Partial<T> {
  if (!fields?.length) return value;
  return Object.fromEntries(Object.entries(value).filter(([name]) => fields.includes(name))) as Partial<T>;
}

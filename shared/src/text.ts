/** @module Strings that survive UTF-8, SQLite and C: no lone surrogates, no NUL. */
import type { z } from "zod";

export function isWellFormed(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

export function wellFormed<T extends z.ZodString>(schema: T) {
  return schema.refine(isWellFormed, "must be well-formed Unicode without NUL");
}

/** Cuts at a code-point border, so a capped string never ends in half a surrogate pair. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const last = text.charCodeAt(limit - 1);
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit);
}

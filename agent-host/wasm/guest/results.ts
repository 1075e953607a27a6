/** @module Bounds on what a kernel reports: it is user code's own process and may say anything. */
import type { Execution } from "./journal.ts";
import { ERROR_NAME, ERROR_TRACEBACK, ERROR_VALUE, RESULT_BYTES, RESULTS_PER_EXECUTION } from "./limits.ts";

type Said = Record<string, unknown>;

/** What fits: text is cut, any other value that is too large is left out. The execution keeps how large they were. */
export function boundedBundle(execution: Execution, message: Said): Said | null {
  if (!isRecord(message.data)) return null;
  const lengths = isRecord(message.lengths) ? message.lengths : {};
  const limit = execution.request.mime_value_limit;
  execution.results++;
  let room = execution.results <= RESULTS_PER_EXECUTION ? RESULT_BYTES : 0;
  const kept: Said = {};
  for (const [mime, value] of Object.entries(message.data).slice(0, 64)) {
    const whole = Math.max(lengthOf(value), count(lengths[mime]));
    const fitting = mime.length <= 128 ? fit(mime, value, limit, execution.mimeLeft, room) : null;
    if (!fitting) {
      leaveOut(execution, mime, whole);
      continue;
    }
    if (fitting.value !== value || mime in lengths)
      execution.resultLength = Math.max(execution.resultLength, whole);
    execution.mimeLeft -= fitting.chars;
    room -= fitting.bytes;
    kept[mime] = fitting.value;
  }
  for (const [mime, length] of Object.entries(lengths).slice(0, 64))
    if (!(mime in message.data)) leaveOut(execution, mime, count(length));
  return kept;
}

/** As much of a value as there is room for, and what that takes as JSON. */
function fit(mime: string, value: unknown, limit: number, chars: number, room: number) {
  const isText = typeof value === "string";
  const cuttable = isText && mime.startsWith("text/") && mime !== "text/html";
  let part = cuttable && value.length > limit ? value.slice(0, limit) : value;
  for (;;) {
    const line = JSON.stringify(part) ?? "null";
    const bytes = Buffer.byteLength(line) + mime.length + 64;
    const inner = line.length - (isText ? 2 : 0);
    const length = typeof part === "string" ? part.length : line.length;
    if (length <= limit && inner <= chars && bytes <= room) return { value: part, chars: inner, bytes };
    if (!cuttable || typeof part !== "string" || part.length < 2 || room <= 0) return null;
    part = part.slice(0, Math.min(chars, Math.floor((part.length * 3) / 4)));
  }
}

export function boundedError(execution: Execution, message: Said) {
  const value = String(message.value ?? "");
  let traceback = String(message.traceback ?? "");
  const lengths = isRecord(message.lengths) ? message.lengths : {};
  const fields = [
    ["error", value, ERROR_VALUE],
    ["traceback", traceback, ERROR_TRACEBACK],
  ] as const;
  for (const [field, text, limit] of fields)
    if (text.length > limit || field in lengths)
      execution.errorLengths[field] = Math.max(text.length, count(lengths[field]));
  if (traceback.length > ERROR_TRACEBACK) {
    const half = ERROR_TRACEBACK / 2;
    traceback = `${traceback.slice(0, half)}\n…\n${traceback.slice(-half)}`;
  }
  return {
    name: String(message.name ?? "Error").slice(0, ERROR_NAME),
    value: value.slice(0, ERROR_VALUE),
    traceback,
  };
}

function leaveOut(execution: Execution, mime: string, length: number): void {
  execution.dropped++;
  const { leftOut } = execution;
  if (mime.includes("/") && mime.length <= 128 && (leftOut.has(mime) || leftOut.size < 64))
    leftOut.set(mime, Math.max(leftOut.get(mime) ?? 0, length));
}

function lengthOf(value: unknown): number {
  return (typeof value === "string" ? value : (JSON.stringify(value) ?? "")).length;
}

function count(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : 0;
}

export function isRecord(value: unknown): value is Said {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

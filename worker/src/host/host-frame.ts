/**
 * Reads a daemon's frames. The schema is the judge; the report of a short cell, which makes up nearly all traffic, is
 * recognised by hand first, because the runtime forbids the compiled checks that make zod fast elsewhere.
 *
 * @module
 */
import { FRAME_LIMIT_BYTES, framesOf, type HostFrame, HostFrameSchema } from "@sandbar/shared";

/** A frame, and how long its text was. */
export interface Arrived {
  readonly frame: HostFrame;
  readonly length: number;
}

/** The frames of a message; null when any of it is none. */
export function parseMessage(message: string | ArrayBuffer): Arrived[] | null {
  if (typeof message !== "string" || message.length > FRAME_LIMIT_BYTES) return null;
  const arrived: Arrived[] = [];
  for (const text of framesOf(message)) {
    const frame = parseFrame(text);
    if (!frame) return null;
    arrived.push({ frame, length: text.length });
  }
  return arrived;
}

function parseFrame(message: string): HostFrame | null {
  try {
    const frame: unknown = JSON.parse(message);
    return isPlainReport(frame) ? frame : (HostFrameSchema.safeParse(frame).data ?? null);
  } catch {
    return null;
  }
}

/** True only for frames that the schema accepts as they are. */
export function isPlainReport(frame: unknown): frame is Extract<HostFrame, { t: "report" }> {
  return (
    isRecord(frame, 5) &&
    frame.t === "report" &&
    typeof frame.session === "string" &&
    typeof frame.execution === "string" &&
    Array.isArray(frame.events) &&
    frame.events.every(isPlainEvent) &&
    (frame.outcome === null || isPlainOutcome(frame.outcome))
  );
}

function isPlainEvent(event: unknown): boolean {
  if (isRecord(event, 2)) return event.type === "started" && isCount(event.seq, 1);
  if (!isRecord(event, 3) || !isCount(event.seq, 1)) return false;
  if (event.type === "stdout" || event.type === "stderr") return typeof event.text === "string";
  return (
    event.type === "result" &&
    isRecord(event.data) &&
    // The schema's copy leaves `__proto__` out.
    Object.keys(event.data).every((mime) => mime.length <= 128 && mime !== "__proto__")
  );
}

/** An execution that ended well and left nothing to say. */
function isPlainOutcome(outcome: unknown): boolean {
  return (
    isRecord(outcome, 10) &&
    outcome.status === "ok" &&
    outcome.error === null &&
    (outcome.exit_code === null || outcome.exit_code === 0) &&
    isRecord(outcome.totals, 3) &&
    isCount(outcome.totals.stdout) &&
    isCount(outcome.totals.stderr) &&
    isCount(outcome.totals.results_dropped) &&
    isRecord(outcome.state, 2) &&
    outcome.state.variables === "kept" &&
    outcome.state.files === "kept" &&
    Number.isFinite(outcome.started_at) &&
    Number.isFinite(outcome.finished_at) &&
    isCount(outcome.last_seq) &&
    isEmpty(outcome.artifacts) &&
    isEmpty(outcome.artifacts_skipped)
  );
}

function isRecord(value: unknown, size?: number): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  return size === undefined || Object.keys(value).length === size;
}

const isCount = (value: unknown, least = 0): boolean =>
  Number.isSafeInteger(value) && (value as number) >= least;
const isEmpty = (value: unknown): boolean => Array.isArray(value) && value.length === 0;

/**
 * Reads a daemon's frames. The schema is the judge; the report of a short cell, which makes up nearly all traffic, is
 * recognised by hand first, because the runtime forbids the compiled checks that make zod fast elsewhere.
 *
 * @module
 */
import {
  cut,
  DETAIL_LIMIT_CHARS,
  FRAME_LIMIT_BYTES,
  framesOf,
  type HostFrame,
  HostFrameSchema,
  type KernelEvent,
  LanguageSchema,
  type SessionReport,
  SessionReportSchema,
} from "@sandbar/shared";
import { ownOutcome } from "../session/execution-record.ts";

/** A frame, and how long its text was. */
export interface Arrived {
  readonly frame: HostFrame;
  readonly length: number;
}

/** The frames of a message; null when any of it is none, and concerns nobody in particular. */
export function parseMessage(message: string | ArrayBuffer): Arrived[] | null {
  if (typeof message !== "string") return null;
  const arrived: Arrived[] = [];
  for (const text of framesOf(message)) {
    const frame = parseFrame(text);
    if (frame === null) return null;
    if (frame !== IGNORED) arrived.push({ frame, length: text.length });
  }
  return arrived;
}

/** From whoever has not proven yet who it is: it may say one thing, and not at length. */
export function parseOpening(message: string | ArrayBuffer): HostFrame | null {
  if (typeof message !== "string" || message.length > FRAME_LIMIT_BYTES) return null;
  return parseMessage(message)?.[0]?.frame ?? null;
}

const IGNORED = "ignored";

function parseFrame(text: string): HostFrame | typeof IGNORED | null {
  let frame: unknown;
  try {
    frame = JSON.parse(text);
  } catch {
    return null;
  }
  if (text.length > FRAME_LIMIT_BYTES) return salvage(frame);
  return isPlainReport(frame) ? frame : (HostFrameSchema.safeParse(frame).data ?? salvage(frame));
}

/**
 * What a frame that cannot be read means to the one whom it names: the host's other sessions must not lose their link
 * over it. Daemons of another version, or one that a hostile guest has found a way through, send such frames.
 */
function salvage(frame: unknown): HostFrame | typeof IGNORED | null {
  if (!isRecord(frame)) return null;
  const { t, id, session, execution } = frame;
  if (t === "hello" && Array.isArray(frame.sessions))
    return HostFrameSchema.safeParse({ ...frame, sessions: frame.sessions.map(readable) }).data ?? null;
  if (t === "answer" && typeof id === "string") return { t, id, failure: unreadable(frame.failure) };
  if (typeof session !== "string") return null;
  if (t === "session") return { t, session, report: readable(frame).report };
  if (t !== "report" || typeof execution !== "string") return IGNORED;
  const events = (Array.isArray(frame.events) ? frame.events : []).map(emptied);
  const lost = { variables: "lost", files: "kept" } as const;
  const why = "The host's report of how the code ended cannot be read";
  const outcome =
    frame.outcome == null ? null : ownOutcome("unknown", "OUTCOME_UNKNOWN", why, lost, Date.now());
  return { t, session, execution, events: events.filter((event) => event !== null), outcome };
}

/** Its number is all that the log needs. */
function emptied(event: unknown): KernelEvent | null {
  if (!isRecord(event) || !isCount(event.seq, 1)) return null;
  return { type: "stdout", seq: event.seq as number, text: "" };
}

function readable(entry: unknown): { session: unknown; report: SessionReport } {
  const { session, report } = isRecord(entry) ? entry : {};
  const known = SessionReportSchema.safeParse(report).data;
  if (known) return { session, report: known };
  const { state, languages, image, failure } = isRecord(report) ? report : {};
  const { detail } = unreadable(failure);
  switch (state) {
    case "ready":
      return {
        session,
        report: {
          state,
          languages: LanguageSchema.options.filter(
            (one) => Array.isArray(languages) && languages.includes(one),
          ),
          image: typeof image === "string" ? cut(image, DETAIL_LIMIT_CHARS) : "",
        },
      };
    case "failed":
      return { session, report: { state, failure: { code: "SESSION_START_FAILED", detail } } };
    case "died":
      return { session, report: { state, error: { name: "CONTAINER_DIED", value: detail, traceback: "" } } };
    default:
      return { session, report: { state: "creating" } };
  }
}

function unreadable(failure: unknown): { code: "HOST_ERROR"; detail: string } {
  const said = isRecord(failure) ? failure.detail : null;
  const detail = typeof said === "string" ? said : "What the host said cannot be read";
  return { code: "HOST_ERROR", detail: cut(detail, DETAIL_LIMIT_CHARS) };
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

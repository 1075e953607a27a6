/**
 * The last look at what leaves for the control plane. A longer message would close the link of all sessions of this
 * host, so what is too long becomes the problem of the one session that it is about.
 *
 * @module
 */
import { cut, DETAIL_LIMIT_CHARS, FRAME_LIMIT_BYTES, type HostFrame, type Outcome } from "@sandbar/shared";

const TOO_MANY = { name: "", reason: "too many to name here: list the session's artifacts" };

/** The frame's text, or one that says as much as fits; null when nothing can be said. */
export function boundFrame(text: string, limit: number = FRAME_LIMIT_BYTES): string | null {
  if (text.length <= limit) return text;
  const bounded = JSON.stringify(smaller(JSON.parse(text) as HostFrame, limit / 2));
  return bounded.length <= limit ? bounded : null;
}

function smaller(frame: HostFrame, room: number): HostFrame {
  switch (frame.t) {
    case "answer":
      return {
        t: "answer",
        id: frame.id,
        failure: { code: "HOST_ERROR", detail: "the answer is too large" },
      };
    case "report":
      return {
        ...frame,
        events: frame.events.map(({ seq }) => ({ type: "stdout", seq, text: "" })),
        outcome: frame.outcome && smallerOutcome(frame.outcome, room),
      };
    case "session":
      return { ...frame, report: smallerReport(frame.report) };
    case "progress":
      return { ...frame, step: short(frame.step), detail: short(frame.detail) };
    default:
      return frame;
  }
}

/** How it ended stands; of what it left, as much is named as fits. */
function smallerOutcome(outcome: Outcome, room: number): Outcome {
  const { error } = outcome;
  let left = room;
  const end = outcome.artifacts.findIndex((artifact) => {
    left -= JSON.stringify(artifact).length + 1;
    return left < 0;
  });
  return {
    ...outcome,
    error: error && { name: short(error.name), value: short(error.value), traceback: short(error.traceback) },
    artifacts: end < 0 ? outcome.artifacts : outcome.artifacts.slice(0, end),
    artifacts_skipped: [TOO_MANY],
  };
}

type Report = Extract<HostFrame, { t: "session" }>["report"];

function smallerReport(report: Report): Report {
  if (report.state === "failed")
    return { state: "failed", failure: { code: report.failure.code, detail: short(report.failure.detail) } };
  if (report.state === "died")
    return { state: "died", error: { ...report.error, value: short(report.error.value), traceback: "" } };
  if (report.state === "ready")
    return { ...report, languages: [...new Set(report.languages)], image: short(report.image) };
  return report;
}

const short = (text: string) => cut(text, DETAIL_LIMIT_CHARS);

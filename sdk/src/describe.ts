/** @module An execution as a model reads it. */
import type { Artifact } from "./artifacts.ts";
import type { Execution } from "./execution.ts";

export interface DescribeOptions {
  /** Characters of output that the model gets; the middle is left out. Default 20,000. */
  maxOutputChars?: number;
  /** Images up to this many base64 characters are shown; 0 for models that do not see. Default 400,000. */
  maxImageChars?: number;
}

export interface Description {
  text: string;
  images: { mime: string; data: string }[];
}

/** Everything a program needs to find the call's results again; small, because checkpoints keep it. */
export interface ExecutionSummary {
  session_id: string;
  execution_id: string;
  status: Execution["status"];
  language: Execution["language"];
  exit_code: number | null;
  artifacts: Artifact[];
  artifacts_skipped: { name: string; reason: string }[];
  truncated: Record<string, number>;
  state: Execution["state"];
  duration_ms: number | null;
}

const IMAGE_TYPES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export function describeExecution(
  execution: Execution,
  { maxOutputChars = 20_000, maxImageChars = 400_000 }: DescribeOptions = {},
): Description {
  const images: Description["images"] = [];
  const parts: string[] = [];
  const { reason } = execution.state;
  if (reason) parts.push(`[variables of earlier code were lost before this code began: ${reason}]`);
  if (execution.stdout) parts.push(elide(execution.stdout.trimEnd(), maxOutputChars));
  if (execution.stderr) parts.push(`[stderr]\n${elide(execution.stderr.trimEnd(), maxOutputChars / 2)}`);
  for (const bundle of execution.results) {
    const mime = IMAGE_TYPES.find((type) => typeof bundle[type] === "string");
    const data = mime && (bundle[mime] as string).replace(/\s/g, "");
    if (mime && data && data.length <= maxImageChars) images.push({ mime, data });
    else if (mime) parts.push(`[an ${mime} of ${data!.length} base64 characters is not shown]`);
    else if (typeof bundle["text/plain"] === "string")
      parts.push(elide(bundle["text/plain"], maxOutputChars));
    else if (bundle["application/json"] !== undefined)
      parts.push(elide(JSON.stringify(bundle["application/json"]), maxOutputChars));
  }
  parts.push(...ending(execution), ...cuts(execution.truncated).map((line) => `[${line}]`));
  for (const { name, size, mime, id } of execution.artifacts)
    parts.push(`[artifact] ${name} (${mime}, ${size} bytes, id ${id})`);
  for (const { name, reason } of execution.artifacts_skipped) parts.push(`[not kept] ${name}: ${reason}`);
  return { text: parts.join("\n") || "(no output)", images };
}

function ending(execution: Execution): string[] {
  const { status, error, exit_code, state } = execution;
  const lines: string[] = [];
  if (error)
    lines.push(
      status === "error"
        ? error.traceback || `${error.name}: ${error.value}`
        : `[${error.name}] ${error.value}`,
    );
  if (exit_code) lines.push(`[exit code ${exit_code}]`);
  if (status !== "ok" && status !== "error")
    lines.push(`[the code ended as ${status}; variables ${state.variables}, files ${state.files}]`);
  return lines;
}

/** What was cut or left out, a line each. */
export function cuts(truncated: Record<string, number>): string[] {
  const fields = Object.entries(truncated);
  return fields
    .filter(([field]) => field !== "results" || !fields.some(([other]) => other.includes("/")))
    .map(([field, total]) => {
      if (field === "results") return `too large and left out: ${total} values`;
      if (field.includes("/")) return `too large and left out: ${field} of ${total} characters`;
      return `${field} was cut: ${total} characters in all`;
    });
}

export function summarize(execution: Execution): ExecutionSummary {
  const { session_id, id, status, language, artifacts, artifacts_skipped, truncated, state, duration_ms } =
    execution;
  const exit_code = execution.exit_code ?? null;
  return {
    session_id,
    execution_id: id,
    status,
    language,
    exit_code,
    artifacts,
    artifacts_skipped,
    truncated,
    state,
    duration_ms,
  };
}

/** Keeps both ends: the start says what it was, the end what came of it. */
export function elide(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const head = Math.floor(limit * 0.7);
  const tail = limit - head;
  return `${text.slice(0, head)}\n[… ${text.length - limit} characters left out …]\n${text.slice(-tail)}`;
}

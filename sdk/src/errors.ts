/** @module What the client throws. Every error has a code, says whether trying again can help, and what to do. */
import type { ErrorCode, Problem } from "@sandbar/shared";

/** Codes that arise in the client itself; all others come from the server's error table. */
export type ClientErrorCode =
  | "NETWORK_ERROR"
  | "UNEXPECTED_ANSWER"
  | "CORRUPT_DOWNLOAD"
  | "INVALID_URL"
  | "INVALID_KEY"
  | "NOT_A_TOKEN";

export interface SandbarErrorInit {
  code: ErrorCode | ClientErrorCode | (string & {});
  detail: string;
  status?: number;
  hint?: string;
  retryable?: boolean;
  requestId?: string;
  errors?: { path: string; message: string }[];
  retryAfterS?: number;
  /** Set when an execution had been accepted: it runs on, and `session.execution(id)` finds it again. */
  executionId?: string;
  cause?: unknown;
}

export class SandbarError extends Error {
  readonly code: SandbarErrorInit["code"];
  /** HTTP status, or 0 when no answer came. */
  readonly status: number;
  readonly hint: string | undefined;
  readonly retryable: boolean;
  readonly requestId: string | undefined;
  readonly errors: { path: string; message: string }[];
  readonly retryAfterS: number | undefined;
  readonly executionId: string | undefined;

  constructor(init: SandbarErrorInit) {
    super(`${init.code}: ${init.detail}`, { cause: init.cause });
    this.name = "SandbarError";
    this.code = init.code;
    this.status = init.status ?? 0;
    this.hint = init.hint;
    this.retryable = init.retryable ?? false;
    this.requestId = init.requestId;
    this.errors = init.errors ?? [];
    this.retryAfterS = init.retryAfterS;
    this.executionId = init.executionId;
  }
}

/** Turns an answer that is not 2xx into an error; what is not a problem document (a proxy's page) is kept as text. */
export async function errorFromResponse(response: Response): Promise<SandbarError> {
  const text = await response.text().catch(() => "");
  const retryAfterS = parseRetryAfter(response.headers.get("retry-after"));
  const problem = parseProblem(text);
  if (problem)
    return new SandbarError({
      code: problem.code,
      detail: problem.detail ?? problem.title,
      status: response.status,
      hint: problem.hint,
      retryable: problem.retryable,
      requestId: problem.request_id,
      errors: problem.errors,
      retryAfterS,
    });
  return new SandbarError({
    code: "UNEXPECTED_ANSWER",
    detail: `${response.status} ${response.statusText} ${text.slice(0, 300)}`.trim(),
    status: response.status,
    hint: "This does not look like Sandbar's answer; check the URL, and proxies on the way.",
    retryable: [502, 503, 504].includes(response.status),
    retryAfterS,
  });
}

export function networkError(cause: unknown, detail?: string): SandbarError {
  const reason = cause instanceof Error ? innermostMessage(cause) : String(cause);
  return new SandbarError({
    code: "NETWORK_ERROR",
    detail: detail ? `${detail}: ${reason}` : reason,
    hint: "Check the URL, and that Sandbar runs (`sandbar doctor`).",
    retryable: true,
    cause,
  });
}

export function parseRetryAfter(value: string | null, now = Date.now()): number | undefined {
  if (value === null) return undefined;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, (at - now) / 1000);
}

function parseProblem(text: string): (Partial<Problem> & { code: Problem["code"]; title: string }) | null {
  try {
    const value = JSON.parse(text);
    return typeof value?.code === "string" ? value : null;
  } catch {
    return null;
  }
}

/** Whether a request that got no answer can have reached the server. */
export function mayHaveArrived(error: SandbarError): boolean {
  if (error.code !== "NETWORK_ERROR") return false;
  const code = error.cause instanceof Error ? (innermost(error.cause) as { code?: string }).code : undefined;
  return code === undefined || !["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN"].includes(code);
}

// fetch says only "fetch failed"; what failed stands in its causes.
function innermost(error: Error): Error {
  let current = error;
  while (current.cause instanceof Error) current = current.cause;
  return current;
}

function innermostMessage(error: Error): string {
  const inner = innermost(error);
  return inner.message || (inner as { code?: string }).code || inner.name;
}

/** @module What went wrong at a provider: whether asking again may help, when, and what it said. */
import { SandbarError } from "@sandbar/shared";

const TRANSIENT = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);
const CUT =
  /network|connection|terminated|socket|premature|ECONN|fetch failed|overloaded|other side closed|stream/i;
const NO_TOOLS =
  /(do(es)?n?'?t? not support|not supported?|unsupported).{0,40}(tool|function)|(tool|function)s?( use| calling| calls)?.{0,40}(not supported|unsupported|unavailable)/i;
/** Groq and Google refuse a call that their model has written badly; it may write the next one well. */
const GARBLED = /tool_use_failed|malformed_function_call|received empty response/i;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const DETAIL_CHARS = 1_000;
/** Which LangChain adds to what the provider said. */
const ADVICE = /\s*Troubleshooting URL: \S+\s*$/;

export interface ProviderFailure {
  readonly status: number | null;
  readonly detail: string;
  readonly transient: boolean;
  /** It refused to be given tools. */
  readonly withoutTools: boolean;
  /** As the provider asked; null when it did not say. */
  readonly retryAfterMs: number | null;
}

export function providerFailure(error: unknown): ProviderFailure {
  const own = refusal(error);
  if (own)
    return { status: null, detail: own.message, transient: false, withoutTools: false, retryAfterMs: null };
  const {
    status,
    code,
    type,
    headers,
    message,
    response,
    error: inner,
    errorDetails,
  } = (error ?? {}) as Record<string, unknown>;
  // Of an error in the middle of a stream, OpenRouter has the status as its code.
  const number = Number(status ?? (response as { status?: number } | undefined)?.status ?? code) || null;
  const detail = String(message ?? error)
    .replace(ADVICE, "")
    // Some packages say the status first, and so does whoever is told of this.
    .replace(new RegExp(`^${number} (?=\\S)`), "")
    .slice(0, DETAIL_CHARS);
  const kind = String(type ?? code ?? (inner as { type?: string } | undefined)?.type ?? "");
  const overloaded = /overloaded|rate_limit/i.test(`${kind} ${JSON.stringify(inner ?? "")}`);
  // Out of money is told with the same status as too fast.
  const broke = /insufficient_quota|billing|credit/i.test(`${kind} ${detail}`);
  const garbled = GARBLED.test(`${kind} ${detail}`);
  const transient =
    !broke && (number === null ? overloaded || CUT.test(detail) : TRANSIENT.has(number) || overloaded);
  return {
    status: number,
    detail,
    transient: transient || garbled,
    withoutTools: (number === 400 || number === 404 || number === 422) && NO_TOOLS.test(detail),
    retryAfterMs:
      retryAfter(headers ?? (response as { headers?: unknown } | undefined)?.headers) ??
      retryInfo(errorDetails),
  };
}

/** Of our own; the packages call whatever their fetch throws a connection that failed. */
function refusal(error: unknown): SandbarError | null {
  for (let inner = error; inner instanceof Error; inner = inner.cause)
    if (inner instanceof SandbarError) return inner;
  return null;
}

export function pauseMs({ retryAfterMs }: ProviderFailure, attempt: number): number {
  if (retryAfterMs !== null) return Math.min(retryAfterMs, LONGEST_PAUSE_MS);
  return Math.min(FIRST_PAUSE_MS * 2 ** attempt, LONGEST_PAUSE_MS) * (0.75 + Math.random() / 2);
}

function retryAfter(headers: unknown): number | null {
  const get = (name: string): string | null =>
    headers instanceof Headers
      ? headers.get(name)
      : ((headers as Record<string, string> | undefined)?.[name] ?? null);
  const ms = get("retry-after-ms");
  if (ms && Number(ms) >= 0) return Number(ms);
  const text = get("retry-after");
  if (!text) return null;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const date = Date.parse(text);
  return Number.isNaN(date) ? null : Math.max(0, date - Date.now());
}

/** Google says it in the body: `{"@type": "…RetryInfo", "retryDelay": "3s"}`. */
function retryInfo(details: unknown): number | null {
  if (!Array.isArray(details)) return null;
  const delay = details.find((entry) => typeof entry?.retryDelay === "string")?.retryDelay;
  const seconds = Number(/^([\d.]+)s$/.exec(delay ?? "")?.[1]);
  return Number.isFinite(seconds) ? seconds * 1000 : null;
}

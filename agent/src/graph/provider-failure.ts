/** @module What went wrong at a provider: whether asking again may help, when, and what it said. */

const TRANSIENT = new Set([408, 409, 425, 429, 500, 502, 503, 504, 529]);
const CUT =
  /network|connection|terminated|socket|premature|ECONN|fetch failed|overloaded|other side closed|stream/i;
const NO_TOOLS =
  /(do(es)?n?'?t? not support|not supported?|unsupported).{0,40}(tool|function)|(tool|function)s?( use| calling| calls)?.{0,40}(not supported|unsupported|unavailable)/i;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
const DETAIL_CHARS = 1_000;

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
  const {
    status,
    code,
    type,
    headers,
    message,
    response,
    error: inner,
  } = (error ?? {}) as Record<string, unknown>;
  const number = Number(status ?? (response as { status?: number } | undefined)?.status) || null;
  const detail = String(message ?? error).slice(0, DETAIL_CHARS);
  const kind = String(type ?? code ?? (inner as { type?: string } | undefined)?.type ?? "");
  const overloaded = /overloaded|rate_limit/i.test(`${kind} ${JSON.stringify(inner ?? "")}`);
  // Out of money is told with the same status as too fast.
  const broke = /insufficient_quota|billing|credit/i.test(`${kind} ${detail}`);
  const transient =
    !broke && (number === null ? overloaded || CUT.test(detail) : TRANSIENT.has(number) || overloaded);
  return {
    status: number,
    detail,
    transient,
    withoutTools: (number === 400 || number === 404 || number === 422) && NO_TOOLS.test(detail),
    retryAfterMs: retryAfter(headers ?? (response as { headers?: unknown } | undefined)?.headers),
  };
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

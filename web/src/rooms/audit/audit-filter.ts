/** @module What of the audit log is asked for: as the address has it, and as the API wants it. */
import type { AuditOptions } from "@sandbar/sdk";

export const RANGES = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000, all: null } as const;
export type Range = keyof typeof RANGES;

export interface AuditSearch {
  /** A key, a token, an address, a target or an action. */
  q?: string;
  /** The beginning of actions: `host.`. */
  kind?: string;
  result?: "ok" | "refused";
  range?: Range;
  tenant?: string;
}

/** Of an address that anybody may have typed, what can be understood. */
export function auditSearch({ q, kind, result, range, tenant }: Record<string, unknown>): AuditSearch {
  return {
    ...(typeof q === "string" && q ? { q } : {}),
    ...(typeof kind === "string" && kind ? { kind } : {}),
    ...(result === "ok" || result === "refused" ? { result } : {}),
    ...(typeof range === "string" && range in RANGES ? { range: range as Range } : {}),
    ...(typeof tenant === "string" && tenant ? { tenant } : {}),
  };
}

/** Before what is a target, whatever it looks like. */
export const TO = "to:";

/** What somebody typed is known by its look. */
export function filterOf(
  { q = "", kind, result, range = "7d", tenant }: AuditSearch,
  now: number,
): AuditOptions {
  const text = q.trim();
  const life = RANGES[range];
  return {
    ...(kind ? { action: kind } : {}),
    ...(text ? wordOf(text) : {}),
    ...(result ? { result } : {}),
    ...(tenant ? { tenant } : {}),
    ...(life === null ? {} : { since: new Date(now - life) }),
  };
}

function wordOf(text: string): AuditOptions {
  // A key is asked for as the one who did something, unless what was done to it is.
  if (text.startsWith(TO)) return { target: text.slice(TO.length) };
  if (/^(key|tok)_/.test(text)) return { by: text };
  if (/^[A-Z][A-Z_]{3,}$/.test(text)) return { result: text };
  if (/^\d+\.\d+\.\d+\.\d+$/.test(text) || /^[0-9a-f]*:[0-9a-f:.]+$/i.test(text)) return { address: text };
  if (/^(session|artifact|volume|key|token|host|source|settings|console|policy)\.[a-z.-]*$/.test(text))
    return { action: text };
  return { target: text };
}

/** @module What a context's idle kernel is asked: its variables, and what could stand at a cursor. */
import { CallError } from "./call-error.ts";
import type { Context } from "./context.ts";
import { isRecord } from "./results.ts";

const STATE_MS = 2000;
const VARIABLES = 500;
const REPR = 200;
const COMPLETE_MS = 2000;
const MATCHES = 200;
const TEXT = 300;
const CODE_BYTES = 400_000;

type Params = Record<string, unknown>;

export function state(context: Context | undefined, params: Params): Promise<object> {
  if (!context) throw new CallError("UNKNOWN_CONTEXT", "no such context");
  if (!context.idle()) throw new CallError("BUSY", "the kernel is busy");
  const timeoutMs = Math.min(30_000, Math.max(10, Number(params.timeout_ms ?? STATE_MS)));
  return new Promise((resolve, reject) =>
    context.ask({ op: "state", variables: VARIABLES, repr: REPR }, timeoutMs, ({ result, error }) => {
      if (isRecord(result)) resolve(boundedState(result));
      else reject(new CallError("FAILED", String(error ?? "no answer").slice(0, 1000)));
    }),
  );
}

/** Kernels here cannot write their variables into a stream: there is nothing to carry. */
export function dumpState(context: Context | undefined): object {
  const alive = context !== undefined && !context.closed && context.state !== "dead";
  return { size: 0, alive, language: context?.language ?? null, format: null, variables: [], more: 0 };
}

function boundedState({ variables, imports, total, cwd }: Params): object {
  const list = (Array.isArray(variables) ? variables : []).slice(0, VARIABLES).filter(isRecord);
  const bounded = list.map(({ name, type, repr, size }) => ({
    name: String(name).slice(0, 200),
    type: String(type).slice(0, 200),
    repr: String(repr).slice(0, REPR),
    size: Number.isSafeInteger(size) && (size as number) >= 0 ? size : null,
  }));
  const names = (Array.isArray(imports) ? imports : []).slice(0, VARIABLES);
  return {
    variables: bounded,
    total: Number.isSafeInteger(total) ? Math.max(total as number, bounded.length) : bounded.length,
    imports: names.map((name) => String(name).slice(0, 200)),
    cwd: String(cwd ?? "").slice(0, 4096),
  };
}

/** A kernel that runs code, starts, or answers somebody else is left alone; one that is not there is not started for this. */
export function complete(context: Context | undefined, params: Params): Promise<object> | object {
  const code = String(params.code);
  const cursor = Number(params.cursor);
  const nothing = { matches: [], start: cursor, end: cursor, busy: false };
  if (!context || context.closed || context.state === "dead" || code.includes("\0")) return nothing;
  if (Buffer.byteLength(code) > CODE_BYTES) return nothing;
  if (!context.idle()) return { ...nothing, busy: true };
  // Python counts characters, everybody else UTF-16 units.
  const at = [...code.slice(0, cursor)].length;
  return new Promise((resolve) =>
    context.ask(
      { op: "complete", code, cursor: at, matches: MATCHES, text: TEXT },
      COMPLETE_MS,
      ({ result }) => {
        if (!isRecord(result)) return resolve(nothing);
        const characters = [...code];
        const position = (value: unknown) =>
          characters
            .slice(0, Number.isSafeInteger(value) ? Math.min(at, Math.max(0, value as number)) : at)
            .join("").length;
        const end = position(result.end);
        resolve({
          matches: boundedMatches(result.matches),
          start: Math.min(position(result.start), end),
          end,
          busy: false,
        });
      },
    ),
  );
}

function boundedMatches(found: unknown): object[] {
  const matches: object[] = [];
  for (const entry of Array.isArray(found) ? found : []) {
    if (!isRecord(entry) || matches.length === MATCHES) continue;
    const { text, type, signature } = entry;
    // Half a name is none.
    if (typeof text !== "string" || text.length === 0 || text.length > TEXT) continue;
    const known = typeof signature === "string" && signature.length > 0 && signature.length <= TEXT;
    matches.push({
      text,
      type: typeof type === "string" ? type.slice(0, TEXT) : null,
      ...(known && { signature }),
    });
  }
  return matches;
}

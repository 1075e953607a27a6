/** @module Folds kernel events into the capped fields of an Execution. */

import { OUTPUT_CAPS } from "../limits.ts";
import { cut } from "../text.ts";
import type { ExecutionError, KernelEvent, MimeBundle, Outcome } from "./execution.ts";

export interface OutputCaps {
  readonly stdout: number;
  readonly stderr: number;
  readonly result: number;
  readonly traceback: number;
}

export interface Folded {
  stdout: string;
  stderr: string;
  text: string | null;
  results: MimeBundle[];
  error: ExecutionError | null;
  truncated: Record<string, number>;
}

export function foldEvents(
  events: Iterable<KernelEvent>,
  outcome: Pick<Outcome, "error" | "totals"> | null,
  caps: OutputCaps = OUTPUT_CAPS,
): Folded {
  const folded: Folded = { stdout: "", stderr: "", text: null, results: [], error: null, truncated: {} };
  const seen = { stdout: 0, stderr: 0 };
  for (const event of events) {
    switch (event.type) {
      case "stdout":
      case "stderr":
        seen[event.type] += event.text.length;
        if (folded[event.type].length < caps[event.type])
          folded[event.type] = cut(folded[event.type] + event.text, caps[event.type]);
        break;
      case "result": {
        const bundle = capBundle(event.data, caps.result, folded.truncated);
        folded.results.push(bundle);
        if (typeof bundle["text/plain"] === "string") folded.text = bundle["text/plain"];
        break;
      }
      case "error":
        folded.error = capError(
          { name: event.name, value: event.value, traceback: event.traceback },
          caps,
          folded,
        );
        break;
      case "started":
        break;
    }
  }
  if (outcome?.error) folded.error = capError(outcome.error, caps, folded);
  for (const stream of ["stdout", "stderr"] as const) {
    const total = Math.max(seen[stream], outcome?.totals?.[stream] ?? 0);
    if (total > folded[stream].length) folded.truncated[stream] = total;
  }
  const { results_dropped = 0, left_out = {}, result, error, traceback } = outcome?.totals ?? {};
  if (results_dropped) folded.truncated.results = (folded.truncated.results ?? 0) + results_dropped;
  for (const [mime, length] of Object.entries(left_out))
    if (mime.includes("/")) raise(folded.truncated, mime, length);
  for (const [field, length] of Object.entries({ result, error, traceback }))
    if (length) raise(folded.truncated, field, length);
  return folded;
}

function capBundle(data: MimeBundle, limit: number, truncated: Record<string, number>): MimeBundle {
  const bundle: MimeBundle = {};
  for (const [mime, value] of Object.entries(data)) {
    // Only text a model reads is capped; an image cut short would be no image, and a page no page.
    if (!mime.startsWith("text/") || typeof value !== "string" || value.length <= limit) bundle[mime] = value;
    else if (mime === "text/html") {
      truncated.results = (truncated.results ?? 0) + 1;
      raise(truncated, mime, value.length);
    } else {
      bundle[mime] = cut(value, limit);
      raise(truncated, "result", value.length);
    }
  }
  return bundle;
}

function raise(truncated: Record<string, number>, field: string, length: number): void {
  truncated[field] = Math.max(truncated[field] ?? 0, length);
}

function capError(error: ExecutionError, caps: OutputCaps, folded: Folded): ExecutionError {
  if (error.value.length > caps.traceback) folded.truncated.error = error.value.length;
  if (error.traceback.length > caps.traceback) folded.truncated.traceback = error.traceback.length;
  return {
    name: cut(error.name, 256),
    value: cut(error.value, caps.traceback),
    // The end of a traceback says what failed.
    traceback:
      error.traceback.length > caps.traceback ? error.traceback.slice(-caps.traceback) : error.traceback,
  };
}

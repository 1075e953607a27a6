/** @module One execution as the notebook shows it, however it learnt of it: from a list, a stream, or the tenant's events. */
import type {
  Artifact,
  ExecutionEvent,
  ExecutionNews,
  ExecutionRecord,
  Language,
  MimeBundle,
} from "@sandbar/sdk";

export type Output =
  | { kind: "stdout" | "stderr"; text: string }
  | { kind: "result"; data: MimeBundle }
  | { kind: "error"; name: string; value: string; traceback: string };

export interface Entry {
  id: string;
  context: string;
  language: Language;
  /** Null when it was too long to be kept. */
  code: string | null;
  /** The code is only its beginning: events tell no more. */
  partial: boolean;
  status: ExecutionRecord["status"];
  /** In the order in which they came; of a record, by their kind. */
  outputs: readonly Output[];
  artifacts: readonly Artifact[];
  truncated: Record<string, number>;
  state: ExecutionRecord["state"] | null;
  queuedAt: string;
  startedAt: string | null;
  durationMs: number | null;
  /** Of the process, where the language has such a thing. */
  exitCode: number | null;
  /** The number of the last event that the outputs have. */
  lastEvent: number;
}

export const isOpen = ({ status }: Pick<Entry, "status">) => status === "queued" || status === "running";

export function entryOfRecord(record: ExecutionRecord, before?: Entry): Entry {
  const streamed = before && before.lastEvent > 0;
  return {
    id: record.id,
    context: record.context,
    language: record.language,
    code: record.code ?? before?.code ?? null,
    partial: record.code === undefined ? (before?.partial ?? true) : false,
    status: record.status,
    // What was seen as it came has its order, and may be more than the record keeps.
    outputs: streamed ? before.outputs : outputsOf(record),
    artifacts: record.artifacts,
    truncated: streamed && !isOpen(record) ? withoutSeen(record.truncated, before.outputs) : record.truncated,
    state: record.state,
    queuedAt: record.queued_at,
    startedAt: record.started_at,
    durationMs: record.duration_ms,
    exitCode: record.exit_code ?? null,
    lastEvent: before?.lastEvent ?? 0,
  };
}

/** Whether a record, which has its outputs by their kind, has lost the order in which they came. */
export function isOutOfOrder({ outputs, status, lastEvent, truncated }: Entry): boolean {
  if (lastEvent > 0 || isOpen({ status }) || Object.keys(truncated).length > 0) return false;
  return new Set(outputs.map(({ kind }) => kind).filter((kind) => kind !== "error")).size > 1;
}

function outputsOf({ stdout, stderr, results, error }: ExecutionRecord): Output[] {
  return [
    ...(stdout ? [{ kind: "stdout" as const, text: stdout }] : []),
    ...(stderr ? [{ kind: "stderr" as const, text: stderr }] : []),
    ...results.map((data) => ({ kind: "result" as const, data })),
    ...(error ? [{ kind: "error" as const, ...error }] : []),
  ];
}

/** What a stream has brought whole is not cut here, although the record's copy is. */
function withoutSeen(truncated: Record<string, number>, outputs: readonly Output[]): Record<string, number> {
  const length = (kind: "stdout" | "stderr") =>
    outputs.reduce((sum, output) => (output.kind === kind ? sum + output.text.length : sum), 0);
  return Object.fromEntries(
    Object.entries(truncated).filter(
      ([field, total]) => !((field === "stdout" || field === "stderr") && length(field) >= total),
    ),
  );
}

export function entryOfNews(news: ExecutionNews, before?: Entry): Entry {
  if (before && !isOpen(before)) return before;
  return {
    ...(before ?? {
      id: news.execution,
      code: news.code,
      partial: true,
      outputs: [],
      artifacts: [],
      truncated: {},
      state: null,
      startedAt: null,
      exitCode: null,
      lastEvent: 0,
    }),
    context: news.context,
    language: news.language,
    // Its end is believed when the record is there: the stream may still bring output.
    status: before?.status ?? "running",
    queuedAt: news.created_at,
    durationMs: null,
  };
}

/** The next event of its stream. One that was seen, or that is not the next, changes nothing. */
export function withEvent(entry: Entry, event: ExecutionEvent): Entry {
  const number = Number(event.id);
  if (number <= entry.lastEvent) return entry;
  const next = { ...entry, lastEvent: number };
  switch (event.type) {
    case "started":
      return { ...next, status: "running", startedAt: entry.startedAt ?? new Date().toISOString() };
    case "stdout":
    case "stderr":
      return { ...next, outputs: appended(entry.outputs, event.type, event.text) };
    case "result":
      return { ...next, outputs: [...entry.outputs, { kind: "result", data: event.data }] };
    case "error":
      return { ...next, outputs: [...entry.outputs, { kind: "error", ...event.error }] };
    case "artifact":
      return { ...next, artifacts: [...entry.artifacts, event.artifact] };
    case "finished":
      return ended(next, event.execution);
  }
}

function ended(entry: Entry, record: ExecutionRecord): Entry {
  const done = entryOfRecord(record, entry);
  // Endings that are not the code's own doing (a timeout, a lost host) are in the record only.
  const told = done.outputs.some(({ kind }) => kind === "error");
  return record.error && !told
    ? { ...done, outputs: [...done.outputs, { kind: "error", ...record.error }] }
    : done;
}

function appended(outputs: readonly Output[], kind: "stdout" | "stderr", text: string): Output[] {
  const last = outputs.at(-1);
  if (last?.kind === kind) return [...outputs.slice(0, -1), { kind, text: last.text + text }];
  return [...outputs, { kind, text }];
}

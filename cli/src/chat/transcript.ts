/** @module A chat as a Markdown document, and as what programs read. */
import type { ActionRequest, ChatItem, ChatState, RunRecord } from "@sandbar/sdk";
import { outputText } from "./call-view.ts";
import type { SavedPicture } from "./pictures.ts";

/** `files` has where pictures lie, by their links. */
export function transcript(
  items: readonly ChatItem[],
  runtime: string,
  files: ReadonlyMap<string, string>,
): string {
  return `${items.map((item) => section(item, runtime, files)).join("\n\n")}\n`;
}

/** Links to what the item's code has drawn. */
export function picturesOf(item: ChatItem): string[] {
  if (item.kind !== "call") return [];
  return item.output.flatMap((part) =>
    part.type === "answer" ? part.pictures : part.type === "result" && part.url ? [part.url] : [],
  );
}

function section(item: ChatItem, runtime: string, files: ReadonlyMap<string, string>): string {
  if (item.kind === "user") return `## You\n\n${item.text}`;
  if (item.kind === "text") return item.text;
  const output = item.output.map(outputText).join("").trimEnd();
  const language = item.name === "terminal" ? "bash" : (item.language ?? runtime);
  return [
    ...(item.code === null
      ? [`*${item.name}* \`${JSON.stringify(item.args)}\``]
      : [fenced(item.code.trimEnd(), language)]),
    ...(output ? [fenced(output, "")] : []),
    ...picturesOf(item).flatMap((url) => (files.has(url) ? [`![](<${files.get(url)}>)`] : [])),
    ...item.artifacts.map(({ name, url }) => `[${name}](${url})`),
  ].join("\n\n");
}

/** With a fence that is longer than any within. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([marks]) => marks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

export type TurnStatus = "answered" | "failed" | "stopped" | "waiting";

export interface TurnReport {
  readonly thread_id: string;
  readonly run_id: string;
  readonly status: TurnStatus;
  /** What the agent said last. */
  readonly answer: string;
  readonly tool_calls: readonly object[];
  readonly images: readonly string[];
  readonly artifacts: readonly object[];
  /** Calls that wait for a human's word. */
  readonly pending: readonly ActionRequest[];
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The outcome of the turn whose items begin at `from`. */
export function reportOf(
  run: RunRecord,
  state: ChatState,
  from: number,
  pictures: ReadonlyMap<string, SavedPicture>,
): TurnReport {
  const items = state.items.slice(from);
  const calls = items.filter((item) => item.kind === "call");
  const answer = items.findLast((item) => item.kind === "text");
  const error = state.error ?? run.error;
  return {
    thread_id: run.thread_id,
    run_id: run.run_id,
    status: statusOf(run, state),
    answer: answer?.text ?? "",
    tool_calls: calls.map((call) => ({
      id: call.id,
      name: call.name,
      args: call.args,
      code: call.code,
      status: call.status,
      duration_ms: call.durationMs,
      session_id: call.sessionId,
      execution_id: call.executionId,
      output: call.output.map(outputText).join(""),
      images: call.output.flatMap((part) =>
        part.type === "result" && part.url && pictures.has(part.url) ? [pictures.get(part.url)!.path] : [],
      ),
      artifacts: call.artifacts,
    })),
    images: [...pictures.values()].map(({ path }) => path),
    artifacts: calls.flatMap(({ artifacts }) => artifacts),
    pending: state.questions,
    error: error ? { code: error.error, message: error.message } : null,
  };
}

export function statusOf({ status }: Pick<RunRecord, "status">, { error, questions }: ChatState): TurnStatus {
  if (error || status === "error" || status === "timeout") return "failed";
  if (questions.length > 0) return "waiting";
  return status === "interrupted" ? "stopped" : "answered";
}

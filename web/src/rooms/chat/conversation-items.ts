/** @module Messages as they are shown: questions, and answers with the calls that were made for them. */
import { type Language, type ThreadMessage as Message, partialText } from "@sandbar/sdk";
import type { Entry, Output } from "../notebook/entry.ts";
import { withoutAttached } from "./attached.ts";
import { emptyEntry } from "./fold.ts";
import { imagesOf, textOf } from "./messages.ts";

type ToolCallChunk = NonNullable<Message["tool_call_chunks"]>[number];

export interface Call {
  readonly id: string;
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** Of tools that run code; null for others. */
  readonly code: string | null;
  readonly language: Language;
  /** `writing`: the model is not done with it. `open`: it has not ended, for whatever reason. */
  readonly state: "writing" | "open" | "done";
  readonly entry: Entry;
  readonly failed: boolean;
}

export type Part =
  | { readonly kind: "text"; readonly key: string; readonly text: string }
  | { readonly kind: "call"; readonly key: string; readonly call: Call };

export type Item =
  | {
      readonly kind: "question";
      readonly key: string;
      readonly message: Message;
      readonly text: string;
      readonly files: readonly string[];
      readonly images: readonly string[];
    }
  | { readonly kind: "answer"; readonly key: string; readonly parts: readonly Part[] }
  | { readonly kind: "summary"; readonly key: string; readonly text: string };

/** What is known of a thread beside its messages. */
export interface Circumstances {
  /** What code has put out, by its call. */
  readonly outputs: Readonly<Record<string, Entry>>;
  /** The sandbox's own language: of code that has not ended. */
  readonly runtime: Language;
}

export function itemsOf(messages: readonly Message[], known: Circumstances): readonly Item[] {
  const answers = new Map(
    messages.flatMap((message) => (message.type === "tool" ? [[message.tool_call_id ?? "", message]] : [])),
  );
  const items: Item[] = [];
  for (const [index, message] of messages.entries()) {
    const key = message.id ?? String(index);
    if (message.type === "human") items.push(questionOf(message, key));
    else if (message.type === "ai" || message.type === "AIMessageChunk") {
      const parts = partsOf(message, `${key} ${index}`, answers, known);
      if (parts.length === 0) continue;
      const last = items.at(-1);
      if (last?.kind === "answer") items.splice(-1, 1, { ...last, parts: [...last.parts, ...parts] });
      // Keyed by its place: the message's own id is not there from the beginning.
      else items.push({ kind: "answer", key: `answer ${items.length}`, parts });
    }
  }
  return items;
}

function questionOf(message: Message, key: string): Item {
  const whole = textOf(message);
  if (message.additional_kwargs?.lc_source === "summarization") return { kind: "summary", key, text: whole };
  const { text, files } = withoutAttached(whole);
  return { kind: "question", key, message, text, files, images: imagesOf(message) };
}

function partsOf(
  message: Message,
  key: string,
  answers: ReadonlyMap<string, Message>,
  known: Circumstances,
): Part[] {
  const text = textOf(message);
  const said: Part[] = text.trim() ? [{ kind: "text", key, text }] : [];
  const calls =
    message.type === "AIMessageChunk"
      ? (message.tool_call_chunks ?? []).map((chunk) => writtenCall(chunk, known))
      : (message.tool_calls ?? []).map(({ id = "", name, args }) =>
          callOf(id, name, args, answers.get(id), known),
        );
  return [...said, ...calls.map((call): Part => ({ kind: "call", key: call.id, call }))];
}

/** Until its arguments are whole; that its code has begun says that they are. */
function writtenCall({ id, name = "", args = "", index }: ToolCallChunk, known: Circumstances): Call {
  const field = CODE[name];
  const written = field ? { [field]: partialText(args, field) ?? "" } : {};
  const call = callOf(id ?? `call ${index}`, name, written, undefined, known);
  return id && known.outputs[id] ? call : { ...call, state: "writing" };
}

/** Of a tool's arguments, the one that runs. */
const CODE: Readonly<Record<string, string>> = { code_sandbox: "code", terminal: "command" };

function callOf(
  id: string,
  tool: string,
  args: Readonly<Record<string, unknown>>,
  answer: Message | undefined,
  { outputs, runtime }: Circumstances,
): Call {
  const code = args[CODE[tool] ?? ""];
  const chosen = (answer?.artifact?.language ?? args.language ?? runtime) as Language;
  const language = tool === "terminal" ? "bash" : chosen;
  return {
    ...{ id, tool, args, language, failed: answer?.status === "error" },
    code: typeof code === "string" ? code : null,
    state: answer ? "done" : "open",
    entry: entryOf(id, answer, outputs[id]),
  };
}

/** What was seen as it came says more than what the model was told of it. */
function entryOf(id: string, answer: Message | undefined, output: Entry | undefined): Entry {
  if (!answer) return output ?? emptyEntry(id);
  const { artifact } = answer;
  const ended: Pick<Entry, "status" | "durationMs" | "truncated" | "state"> = {
    status: (artifact?.status as Entry["status"]) ?? (answer.status === "error" ? "error" : "ok"),
    durationMs: artifact?.duration_ms ?? null,
    truncated: {},
    state: null,
  };
  if (output) return { ...output, ...ended, artifacts: artifact?.artifacts ?? output.artifacts };
  return {
    ...emptyEntry(artifact?.execution_id ?? id),
    ...ended,
    outputs: toldOutputs(answer),
    artifacts: artifact?.artifacts ?? [],
  };
}

function toldOutputs(answer: Message): Output[] {
  const lines = textOf(answer).split("\n");
  const text = lines.filter((line) => !line.startsWith("[artifact] ")).join("\n");
  const pictures = imagesOf(answer).map((url): Output => ({ kind: "result", data: { "image/png": url } }));
  return [...(text.trim() && text !== "(no output)" ? [{ kind: "stdout" as const, text }] : []), ...pictures];
}

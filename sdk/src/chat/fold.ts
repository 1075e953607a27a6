/**
 * A chat as it is shown, folded from a thread's messages and from the events of its runs. Pure, and what does not change
 * stays the same object, so that views draw only what is new.
 *
 * @module
 */
import type { Artifact, ExecutionError, MimeBundle } from "@sandbar/shared";
import { partialText } from "./partial-text.ts";
import type {
  ActionRequest,
  AgentEvent,
  ContentPart,
  Interrupt,
  ModelRetry,
  RunError,
  RunEvent,
  ThreadMessage,
  ThreadRecord,
} from "./shapes.ts";

export interface UserItem {
  readonly kind: "user";
  /** The message's. */
  readonly id: string;
  readonly text: string;
  /** Links. */
  readonly pictures: readonly string[];
}

export interface TextItem {
  readonly kind: "text";
  /** The message's. */
  readonly id: string;
  readonly text: string;
  /** No more comes of it, and it is written down. */
  readonly whole: boolean;
}

export type CallOutput =
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "result"; readonly data: MimeBundle; readonly url?: string }
  | { readonly type: "error"; readonly error: ExecutionError }
  /** What the model was told, where nobody has heard the code itself. */
  | { readonly type: "answer"; readonly text: string; readonly pictures: readonly string[] };

export interface CallItem {
  readonly kind: "call";
  /** The call's. */
  readonly id: string;
  readonly messageId: string;
  /** The tool's. */
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  /** What runs: as far as it is written. Of other tools null. */
  readonly code: string | null;
  /** Null: the sandbox's own. */
  readonly language: string | null;
  /** `writing`, `waiting` to be run, `running`, or how it ended: `ok`, `error`, `timeout`, `interrupted`, `died`, … */
  readonly status: string;
  readonly output: readonly CallOutput[];
  readonly artifacts: readonly Artifact[];
  readonly durationMs: number | null;
  readonly sessionId: string | null;
  readonly executionId: string | null;
}

export type ChatItem = UserItem | TextItem | CallItem;

export interface ChatState {
  readonly items: readonly ChatItem[];
  readonly attempt: number;
  /** Calls that wait for a human's word. */
  readonly questions: readonly ActionRequest[];
  /** The provider is being asked again. */
  readonly retry: ModelRetry | null;
  readonly error: RunError | null;
}

export const EMPTY_CHAT: ChatState = { items: [], attempt: 0, questions: [], retry: null, error: null };

/** Of a tool's argument, which runs. */
const CODE_ARGUMENT: Readonly<Record<string, string>> = { code_sandbox: "code", terminal: "command" };
/** Whose words are the agent's; other calls of a model are for its own use. */
const SPEAKER = "model_request";
const IS_OPEN = new Set(["writing", "waiting", "running"]);

/** The chat of a thread as it is written down. */
export function chatOf({ values, interrupts }: Pick<ThreadRecord, "values" | "interrupts">): ChatState {
  const items = (values?.messages ?? []).reduce(withMessage, []);
  return { ...EMPTY_CHAT, items, questions: questionsOf(Object.values(interrupts ?? {}).flat()) };
}

/** The chat after one more event of a run. */
export function foldEvent(state: ChatState, { event, data }: RunEvent): ChatState {
  switch (event.split("|")[0]) {
    case "metadata":
      return begun(state, (data as { attempt?: number }).attempt ?? 1);
    case "messages":
      return spoken(state, data as [ThreadMessage, { langgraph_node?: string }]);
    case "updates":
      return updated(state, data as Record<string, unknown>);
    case "values":
      return settledChat(state, (data as { messages?: ThreadMessage[] }).messages ?? []);
    case "custom":
      return told(state, data as AgentEvent);
    case "error":
      return { ...withoutPart(state), error: data as RunError, retry: null };
    default:
      return state;
  }
}

/** With the messages as they are written down; what was heard of code stays. */
export function settledChat(state: ChatState, messages: readonly ThreadMessage[]): ChatState {
  const items = messages.reduce(withMessage, state.items as ChatItem[]);
  return items === state.items ? state : { ...state, items };
}

/** Nothing is under way any more: calls that have not ended were cut off. */
export function endedChat(state: ChatState): ChatState {
  const items = state.items.map((item) => {
    if (item.kind === "text") return item.whole ? item : { ...item, whole: true };
    const isCut = item.kind === "call" && IS_OPEN.has(item.status) && state.questions.length === 0;
    return isCut ? { ...item, status: "interrupted" } : item;
  });
  return { ...state, items, retry: null };
}

/** A run begins. After a crash it begins again, and what it was saying is said anew. */
function begun(state: ChatState, attempt: number): ChatState {
  const kept = attempt > 1 ? withoutPart(state) : state;
  return { ...kept, attempt, questions: [], retry: null, error: null };
}

/** Without the message that is being written. */
function withoutPart(state: ChatState): ChatState {
  const part = new Set(state.items.flatMap((item) => (item.kind === "text" && !item.whole ? [item.id] : [])));
  const items = state.items.filter((item) => {
    if (item.kind === "text") return !part.has(item.id);
    return item.kind !== "call" || item.status !== "writing";
  });
  return items.length === state.items.length ? state : { ...state, items };
}

function spoken(state: ChatState, [message, about]: [ThreadMessage, { langgraph_node?: string }]): ChatState {
  if (message.type !== "AIMessageChunk") return settledChat(state, message.type === "human" ? [] : [message]);
  if (about?.langgraph_node && about.langgraph_node !== SPEAKER) return state;
  const id = message.id ?? "";
  let { items } = state;
  const text = messageText(message.content);
  if (text !== "") {
    const at = items.findLastIndex((item) => item.kind === "text" && item.id === id);
    const before = items[at] as TextItem | undefined;
    if (before?.whole) return state;
    items = put(items, at, { kind: "text", id, text: (before?.text ?? "") + text, whole: false });
  }
  for (const chunk of message.tool_call_chunks ?? []) items = withChunk(items, id, chunk);
  return items === state.items ? state : { ...state, items, retry: null };
}

type Chunk = NonNullable<ThreadMessage["tool_call_chunks"]>[number];

/** Only the first part of a call names it; the rest follow their number. */
function withChunk(
  items: readonly ChatItem[],
  messageId: string,
  { id, name, args = "", index = 0 }: Chunk,
): readonly ChatItem[] {
  if (id) {
    if (items.some((item) => item.kind === "call" && item.id === id)) return items;
    const call: WritingCall = { ...newCall(id, messageId, name ?? ""), index, written: args };
    return [...items, withWritten(call)];
  }
  const at = items.findLastIndex(
    (item) => item.kind === "call" && item.messageId === messageId && (item as WritingCall).index === index,
  );
  const call = items[at] as WritingCall | undefined;
  if (call?.status !== "writing") return items;
  return put(items, at, withWritten({ ...call, written: call.written + args }));
}

/** Until its arguments are whole. */
interface WritingCall extends CallItem {
  readonly index: number;
  readonly written: string;
}

function withWritten(call: WritingCall): WritingCall {
  const argument = CODE_ARGUMENT[call.name];
  return argument ? { ...call, code: partialText(call.written, argument) } : call;
}

function updated(state: ChatState, nodes: Record<string, unknown>): ChatState {
  let next = state;
  for (const [node, update] of Object.entries(nodes))
    if (node === "__interrupt__") next = { ...next, questions: questionsOf(update as Interrupt[]) };
    else {
      const { messages } = (update ?? {}) as { messages?: ThreadMessage | ThreadMessage[] };
      if (messages) next = settledChat(next, Array.isArray(messages) ? messages : [messages]);
    }
  return next;
}

function told(state: ChatState, event: AgentEvent): ChatState {
  if (event.type === "model_retry") {
    const { attempt, status, detail, after_ms } = event;
    return { ...withoutPart(state), retry: { attempt, status, detail, after_ms } };
  }
  const id = event.tool_call_id ?? "";
  const found = state.items.findLastIndex((item) => item.kind === "call" && item.id === id);
  const call = (state.items[found] as CallItem | undefined) ?? newCall(id, "", "code_sandbox");
  const items = put(state.items, found, heard(call, event));
  // Its code runs, so the message that has it is written down.
  return { ...state, items: wholeUpTo(items, call.messageId) };
}

function heard(call: CallItem, event: Exclude<AgentEvent, { type: "model_retry" }>): CallItem {
  switch (event.type) {
    case "started":
      return { ...call, status: "running", sessionId: event.session_id };
    case "stdout":
    case "stderr":
      return { ...call, output: withText(call.output, event.type, event.text) };
    case "result": {
      const { url, ...data } = event.data;
      return { ...call, output: [...call.output, { type: "result", data, ...(url ? { url } : {}) }] };
    }
    case "artifact":
      return { ...call, artifacts: [...call.artifacts, event.artifact] };
    case "error":
      return { ...call, output: [...call.output, { type: "error", error: event.error }] };
    case "finished": {
      const { status, language = call.language, duration_ms: durationMs, execution_id: executionId } = event;
      return { ...call, status, language, durationMs, executionId };
    }
    default:
      return call;
  }
}

/** Pieces of one stream that follow each other are one. */
function withText(output: readonly CallOutput[], type: "stdout" | "stderr", text: string): CallOutput[] {
  const last = output.at(-1);
  if (last?.type !== type) return [...output, { type, text }];
  return [...output.slice(0, -1), { type, text: last.text + text }];
}

function withMessage(items: ChatItem[], message: ThreadMessage): ChatItem[] {
  switch (message.type) {
    case "human":
      return withUser(items, message);
    case "ai":
      return withAnswer(items, message);
    case "tool":
      return withToolAnswer(items, message);
    default:
      return items;
  }
}

function withUser(items: ChatItem[], message: ThreadMessage): ChatItem[] {
  const { id = "", content } = message;
  // A summary of what came before stands in a human's name.
  if (message.additional_kwargs?.lc_source === "summarization") return items;
  if (items.some((item) => item.kind === "user" && item.id === id)) return items;
  return [...items, { kind: "user", id, text: messageText(content), pictures: picturesOf(content) }];
}

function withAnswer(items: ChatItem[], message: ThreadMessage): ChatItem[] {
  const { id = "", content, tool_calls = [] } = message;
  const text = messageText(content);
  let next: readonly ChatItem[] = items;
  const at = items.findLastIndex((item) => item.kind === "text" && item.id === id);
  const before = items[at] as TextItem | undefined;
  if (text !== "" && !(before?.whole && before.text === text))
    next = put(next, at, { kind: "text", id, text, whole: true });
  for (const { id: callId = "", name, args } of tool_calls) {
    const found = next.findLastIndex((item) => item.kind === "call" && item.id === callId);
    const call = next[found] as CallItem | undefined;
    if (call && call.status !== "writing" && call.code !== null) continue;
    const status = call && call.status !== "writing" ? call.status : "waiting";
    next = put(next, found, {
      ...newCall(callId, id, name),
      ...(call
        ? { output: call.output, artifacts: call.artifacts, sessionId: call.sessionId }
        : { sessionId: null }),
      args,
      status,
      code: codeOf(name, args),
      language: name === "terminal" ? "bash" : ((args.language as string | undefined) ?? null),
      durationMs: call?.durationMs ?? null,
      executionId: call?.executionId ?? null,
    });
  }
  return next as ChatItem[];
}

function withToolAnswer(items: ChatItem[], message: ThreadMessage): ChatItem[] {
  const at = items.findLastIndex((item) => item.kind === "call" && item.id === message.tool_call_id);
  const call = items[at] as CallItem | undefined;
  if (!call || !IS_OPEN.has(call.status)) return items;
  const { artifact, content } = message;
  const answer: CallOutput = { type: "answer", text: messageText(content), pictures: picturesOf(content) };
  const next = put(items, at, {
    ...call,
    status: artifact?.status ?? (message.status === "error" ? "error" : "ok"),
    output: call.output.length > 0 ? call.output : [answer],
    artifacts: artifact?.artifacts ?? call.artifacts,
    language: artifact?.language ?? call.language,
    durationMs: artifact?.duration_ms ?? call.durationMs,
    sessionId: artifact?.session_id ?? call.sessionId,
    executionId: artifact?.execution_id ?? call.executionId,
  });
  return wholeUpTo(next, call.messageId) as ChatItem[];
}

function wholeUpTo(items: readonly ChatItem[], messageId: string): readonly ChatItem[] {
  const at = items.findLastIndex((item) => item.kind === "text" && item.id === messageId && !item.whole);
  return at < 0 ? items : put(items, at, { ...(items[at] as TextItem), whole: true });
}

function put(items: readonly ChatItem[], at: number, item: ChatItem): readonly ChatItem[] {
  return at < 0 ? [...items, item] : items.with(at, item);
}

const newCall = (id: string, messageId: string, name: string): CallItem => ({
  kind: "call",
  ...{ id, messageId, name, args: {}, code: null, language: name === "terminal" ? "bash" : null },
  ...{ status: "writing", output: [], artifacts: [], durationMs: null, sessionId: null, executionId: null },
});

function codeOf(name: string, args: Readonly<Record<string, unknown>>): string | null {
  const argument = CODE_ARGUMENT[name];
  const code = argument && args[argument];
  return typeof code === "string" ? code : null;
}

export function messageText(content: ThreadMessage["content"]): string {
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? String(part.text ?? "") : "")).join("");
}

function picturesOf(content: ThreadMessage["content"]): string[] {
  if (typeof content === "string") return [];
  return content.flatMap((part: ContentPart) => {
    if (part.type !== "image_url") return [];
    const { image_url } = part as { image_url: { url: string } | string };
    return [typeof image_url === "string" ? image_url : image_url.url];
  });
}

const questionsOf = (interrupts: readonly Interrupt[]): ActionRequest[] =>
  interrupts.flatMap(({ value }) => [...(value?.actionRequests ?? [])]);

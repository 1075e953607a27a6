/**
 * A run as its events tell it: a pure function from what was known and the next event. Events come from the run's
 * journal, so the same ones give the same view, whether they came live, after a cut, or after a reload.
 *
 * @module
 */
import type { ExecutionEvent, MimeBundle, RunError, RunEvent, ThreadMessage } from "@sandbar/sdk";
import { type Entry, withEvent } from "../notebook/entry.ts";
import { isOwnPicture, textOf } from "./messages.ts";

type Message = ThreadMessage;
type ToolCallChunk = NonNullable<Message["tool_call_chunks"]>[number];

export interface Retry {
  attempt: number;
  status: number | null;
  detail: string;
  /** When the provider is asked again, by this page's clock. */
  at: number;
}

export interface RunView {
  readonly runId: string;
  /** The id of the last event that is in it. */
  readonly cursor: number;
  readonly attempt: number;
  /** The newest whole state; null before the first. */
  readonly messages: readonly Message[] | null;
  /** What was said since: whole messages, and one that is being written. */
  readonly said: readonly Message[];
  /** By the call's id: what its code has put out. */
  readonly calls: Readonly<Record<string, Entry>>;
  readonly retry: Retry | null;
  readonly error: RunError | null;
}

export const emptyRun = (runId: string): RunView => ({
  ...{ runId, cursor: 0, attempt: 0, messages: null, said: [], calls: {}, retry: null, error: null },
});

/** An event that was seen already changes nothing. */
export function folded(view: RunView, { id, event, data }: RunEvent, now: number): RunView {
  const number = Number(id);
  if (number <= view.cursor) return view;
  const next = { ...view, cursor: number };
  switch (event.split("|")[0]) {
    case "metadata": {
      const { attempt = 1 } = data as { attempt?: number };
      // The run began again after a crash: what a message was about to say is said anew.
      return attempt > view.attempt ? { ...next, attempt, said: [], retry: null } : next;
    }
    case "values": {
      const { messages } = (data ?? {}) as { messages?: Message[] };
      return messages ? { ...next, messages, said: [], retry: null } : next;
    }
    case "messages": {
      const [message, about] = data as [Message, { langgraph_node?: string }?];
      return { ...next, said: heard(view.said, message, about?.langgraph_node), retry: null };
    }
    case "updates":
      // Of runs that tell no states.
      return view.messages ? next : { ...next, said: updated(view.said, data as Record<string, unknown>) };
    case "custom":
      return custom(next, data as CustomEvent, now);
    case "error":
      return { ...next, error: data as RunView["error"], retry: null };
    default:
      return next;
  }
}

/** Others of the graph ask the model too: for a summary, which is nothing that is said to the user. */
const SPEAKER = /^model/;

function heard(said: readonly Message[], message: Message, node = "model"): readonly Message[] {
  if (message.type === "AIMessageChunk") return SPEAKER.test(node) ? withPart(said, message) : said;
  if (message.type !== "ai" && message.type !== "tool") return said;
  const last = said.at(-1);
  // The whole of what was being written, which may have got another id.
  const replaces =
    message.type === "ai" && last?.type === "AIMessageChunk" && textOf(last) === textOf(message) && last;
  const index = said.findIndex((other) => other === replaces || (other.id && other.id === message.id));
  return index === -1 ? [...said, message] : said.with(index, message);
}

function updated(said: readonly Message[], nodes: Record<string, unknown>): readonly Message[] {
  return Object.values(nodes).reduce((known: readonly Message[], update) => {
    const { messages } = (update ?? {}) as { messages?: Message | Message[] };
    return [messages ?? []].flat().reduce((all, message) => heard(all, message), known);
  }, said);
}

function withPart(said: readonly Message[], part: Message): readonly Message[] {
  const index = said.findLastIndex(({ id, type }) => id === part.id && type === "AIMessageChunk");
  if (index === -1) return [...said, { ...part, content: textOf(part) }];
  const before = said[index]!;
  return said.with(index, {
    ...before,
    content: textOf(before) + textOf(part),
    tool_call_chunks: withCalls(before.tool_call_chunks ?? [], part.tool_call_chunks ?? []),
  });
}

function withCalls(before: readonly ToolCallChunk[], parts: readonly ToolCallChunk[]): ToolCallChunk[] {
  const calls = [...before];
  for (const part of parts) {
    const at = calls.findIndex(({ index }) => index === part.index);
    const known = calls[at];
    if (!known) calls.push(part);
    else
      calls[at] = {
        index: known.index,
        id: known.id ?? part.id,
        name: known.name ?? part.name,
        args: (known.args ?? "") + (part.args ?? ""),
      };
  }
  return calls;
}

type CustomEvent = { type: string; tool_call_id?: string; session_id?: string } & Record<string, unknown>;

function custom(view: RunView, event: CustomEvent, now: number): RunView {
  if (event.type === "model_retry") {
    const { attempt, status, detail, after_ms } = event as unknown as Retry & { after_ms: number };
    return { ...view, retry: { attempt, status, detail, at: now + after_ms } };
  }
  const { tool_call_id: call } = event;
  if (!call) return view;
  const before = view.calls[call] ?? emptyEntry(call);
  return { ...view, calls: { ...view.calls, [call]: executed(before, event) } };
}

function executed(entry: Entry, event: CustomEvent): Entry {
  if (event.type === "finished") {
    const { execution_id, status, duration_ms } = event as unknown as {
      execution_id: string;
      status: Entry["status"];
      duration_ms: number | null;
    };
    return { ...entry, id: execution_id, status, durationMs: duration_ms };
  }
  const known = event.type === "result" ? { ...event, data: withLinks(event.data as MimeBundle) } : event;
  return withEvent(entry, known as unknown as ExecutionEvent);
}

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** A picture's place has the link to it. */
function withLinks({ url, ...bundle }: MimeBundle): MimeBundle {
  const linked: MimeBundle = { ...bundle };
  for (const mime of PICTURES)
    if (linked[mime] === null) {
      if (typeof url === "string" && isOwnPicture(url)) linked[mime] = url;
      else delete linked[mime];
    }
  return linked;
}

/** A call whose code has said nothing yet. */
export function emptyEntry(id: string): Entry {
  return {
    ...{ id, context: "", language: "python", code: null, partial: false, status: "running" },
    ...{
      outputs: [],
      artifacts: [],
      truncated: {},
      state: null,
      queuedAt: "",
      startedAt: null,
      exitCode: null,
    },
    ...{ durationMs: null, lastEvent: 0 },
  };
}

/**
 * Ids of messages and calls that are new in their thread. Some servers count from one in each answer, or draw from a
 * thousand, and whoever follows a chat by its ids takes two messages for one.
 *
 * @module
 */
import type { AIMessage, BaseMessage } from "@langchain/core/messages";

type Named = { id?: string };

/** Where a message of a model has ids, beside its own. */
const LISTS = ["content", "tool_calls", "invalid_tool_calls", "tool_call_chunks"] as const;
type Lists = Partial<Record<(typeof LISTS)[number], unknown>>;

export class FreshIds {
  readonly #steps = new Map<string, { taken: Set<string>; given: Map<string, string> }>();

  /** Before a model is asked: what there is already. */
  begin(step: string, messages: readonly BaseMessage[]): void {
    if (!this.#steps.has(step))
      this.#steps.set(step, { taken: new Set(messages.flatMap(idsOf)), given: new Map() });
  }

  /** The message as readers and the thread know it; a copy where an id must be another one. */
  renamed<T extends BaseMessage>(step: string, message: T): T {
    const known = this.#steps.get(step);
    if (!known || !idsOf(message).some((id) => known.taken.has(id))) return message;
    const { taken, given } = known;
    const fresh = <I extends string | undefined>(id: I) => {
      if (!id || !taken.has(id)) return id;
      if (!given.has(id)) given.set(id, crypto.randomUUID());
      return given.get(id)!;
    };
    const list = (value: unknown) =>
      Array.isArray(value)
        ? value.map((entry: Named) => (entry?.id ? { ...entry, id: fresh(entry.id) } : entry))
        : value;
    const copy = Object.create(Object.getPrototypeOf(message), Object.getOwnPropertyDescriptors(message));
    copy.id = fresh(message.id);
    for (const name of LISTS) if (name in copy) copy[name] = list(copy[name]);
    const { tool_calls } = message.additional_kwargs;
    if (tool_calls) copy.additional_kwargs = { ...message.additional_kwargs, tool_calls: list(tool_calls) };
    return copy;
  }
}

function idsOf(message: BaseMessage): string[] {
  const lists = LISTS.map((name) => (message as Lists)[name]);
  const entries = [...lists, (message as AIMessage).additional_kwargs?.tool_calls].flatMap((list) =>
    Array.isArray(list) ? (list as Named[]) : [],
  );
  return [message, ...entries].flatMap((entry) => (entry?.id ? [entry.id] : []));
}

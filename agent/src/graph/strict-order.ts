/**
 * A conversation as Mistral's models insist on it: ids of calls are nine letters and digits, after a tool's answer the
 * assistant speaks and not the user, and it either says something or calls. Threads that other models have begun have
 * none of that.
 *
 * @module
 */
import { createHash } from "node:crypto";
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";

const ID = /^[A-Za-z0-9]{9}$/;
const HEARD = "I have the result.";

export function inStrictOrder(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.flatMap((message, index) => {
    if (ToolMessage.isInstance(message)) {
      const { content, status, id } = message;
      return [new ToolMessage({ id, status, content, tool_call_id: shortId(message.tool_call_id) })];
    }
    const before = messages[index - 1];
    if (HumanMessage.isInstance(message) && before && ToolMessage.isInstance(before))
      return [new AIMessage(HEARD), message];
    if (!AIMessage.isInstance(message) || !message.tool_calls?.length) return [message];
    const tool_calls = message.tool_calls.map((call) => ({ ...call, id: shortId(call.id ?? "") }));
    return [new AIMessage({ id: message.id, content: "", tool_calls })];
  });
}

/** The same for the same id, so that a call and its answer find each other. */
function shortId(id: string): string {
  return ID.test(id) ? id : createHash("sha256").update(id).digest("hex").slice(0, 9);
}

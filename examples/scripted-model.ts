/** @module A chat model that says what a script tells it, so that the examples need no provider and no key. */
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";

/** What the model says in one turn: text, or the tools that it calls. */
export type Line = string | { tool: string; args: Record<string, unknown> }[];

export class ScriptedModel extends BaseChatModel {
  readonly #lines: Line[];

  constructor(lines: Line[]) {
    super({});
    this.#lines = lines;
  }

  _llmType(): string {
    return "scripted";
  }

  override bindTools() {
    return this;
  }

  async _generate(messages: BaseMessage[]) {
    const turn = messages.filter((message) => AIMessage.isInstance(message)).length;
    const line = this.#lines[turn] ?? "That is all I know.";
    const message =
      typeof line === "string"
        ? new AIMessage(line)
        : new AIMessage({
            content: "",
            tool_calls: line.map(({ tool, args }, n) => ({ name: tool, args, id: `call_${turn}_${n}` })),
          });
    return { generations: [{ text: "", message }] };
  }
}

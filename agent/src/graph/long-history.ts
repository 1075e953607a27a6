/**
 * A history that does not fit into the model's context: what is older is told to the model as a summary, which it has
 * written itself. The thread keeps every message; only what the model is asked with is shorter. (LangChain's own
 * middleware takes the messages out of the thread, and puts its error there when the provider is too busy.)
 *
 * @module
 */
import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { elide } from "@sandbar/sdk";
import { type AgentMiddleware, countTokensApproximately, createMiddleware } from "langchain";
import { z } from "zod";
import type { ChosenModel } from "./models.ts";
import { patiently, type Tell } from "./patience.ts";

/** Summarised when this part of the model's context is full; of models that are not known, this many tokens. */
const FULL = 0.7;
const FULL_TOKENS = 90_000;
/** Of what makes it full, this part stays as it was said. */
const KEPT = 0.3;
const CHARS_PER_TOKEN = 4;
/** Of one message in what the summary is made of. */
const MESSAGE_CHARS = 8_000;
/** LangGraph's sign for what no reader is shown. */
const UNHEARD = "langsmith:nostream";

const PROMPT = `Below is the older part of a conversation between a user and you, an assistant that runs code in a sandbox.
You will go on without it, with your summary in its place. Write down what you need for that: what the user wants (the
newest request in the user's words, if it is not done), what was found (figures, decisions), the names of files,
variables and datasets in the sandbox, what was tried and failed. Write the summary only.

`;
const TOLD = "[A summary of what was said before, which you have written]\n\n";

const Summary = z.object({ text: z.string(), /** The last message in it. */ up_to: z.string() });
const State = z.object({ _summary: Summary.optional() });
type Summary = z.infer<typeof Summary>;

export function longHistory(chosen: ChosenModel, tell: Tell): AgentMiddleware {
  const full = chosen.maxInputTokens ? Math.floor(chosen.maxInputTokens * FULL) : FULL_TOKENS;
  return createMiddleware({
    name: "long_history",
    stateSchema: State,
    beforeModel: async (state, { signal }) => {
      const told = shortened(state.messages, state._summary);
      if (countTokensApproximately(told) <= full) return;
      const cut = cutAt(told, Math.floor(full * KEPT));
      const up_to = told[cut - 1]?.id;
      if (!up_to) return;
      const question = PROMPT + elide(told.slice(0, cut).map(line).join("\n\n"), full * CHARS_PER_TOKEN);
      const said = await patiently({ chosen, tell, signal }, () =>
        chosen.model.invoke([new HumanMessage(question)], { signal, tags: [UNHEARD] }),
      );
      // Without a word to go on with, everything is told as it was.
      return said.text.trim() === "" ? undefined : { _summary: { text: said.text.trim(), up_to } };
    },
    wrapModelCall: (request, handler) =>
      handler({ ...request, messages: shortened(request.messages, request.state._summary) }),
  }) as AgentMiddleware;
}

export function shortened(messages: readonly BaseMessage[], summary: Summary | undefined): BaseMessage[] {
  const last = summary ? messages.findIndex(({ id }) => id === summary.up_to) : -1;
  // Whoever has taken the message out of the thread has taken what the summary is about.
  if (!summary || last < 0) return [...messages];
  const told = new HumanMessage({ id: `${summary.up_to}-summary`, content: TOLD + summary.text });
  return [told, ...messages.slice(last + 1)];
}

/** The first message that stays: as many as `tokens` allow, and never a tool's answer without its call. */
export function cutAt(messages: readonly BaseMessage[], tokens: number): number {
  let first = messages.length;
  let left = tokens;
  while (first > 0) {
    left -= countTokensApproximately([messages[first - 1]!]);
    if (left < 0) break;
    first--;
  }
  const isWhole = (index: number) => !ToolMessage.isInstance(messages[index]);
  for (let index = first; index < messages.length; index++) if (isWhole(index)) return index;
  for (let index = messages.length - 1; index > 0; index--) if (isWhole(index)) return index;
  return 0;
}

function line(message: BaseMessage): string {
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  const called = calls.map(({ name, args }) => `[calls ${name} with ${JSON.stringify(args)}]`);
  return `${message.type}: ${elide([message.text, ...called].join("\n"), MESSAGE_CHARS)}`;
}

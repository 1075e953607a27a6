/** @module What stands around the agent's loop: limits, retries, pictures, and sentences instead of stack traces. */
import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { SandbarError as ClientError } from "@sandbar/sdk";
import { SandbarError } from "@sandbar/shared";
import { type AgentMiddleware, createMiddleware, ToolInvocationError } from "langchain";
import { z } from "zod";
import type { Images } from "../thread/images.ts";
import type { FreshIds } from "./fresh-ids.ts";
import { isPicture, messagesFor, urlOf, WIRE_MARK } from "./messages-for-model.ts";
import type { ChosenModel, Wire } from "./models.ts";
import { patiently, type Tell } from "./patience.ts";
import type { ProviderFailure } from "./provider-failure.ts";

/** No model can mend these, and none of the next calls would fare better. */
const FATAL = new Set<string>(["UNAUTHENTICATED", "FORBIDDEN"]);

const Steps = z.object({ _steps: z.object({ run: z.string(), count: z.number() }).optional() });

/** Counted in the state, so that a run that goes on after a crash counts on. */
export function limitedSteps(run: string, most: number): AgentMiddleware {
  return createMiddleware({
    name: "steps",
    stateSchema: Steps,
    beforeModel: {
      canJumpTo: ["end"],
      hook: (state) => {
        const count = (state._steps?.run === run ? state._steps.count : 0) + 1;
        if (count <= most) return { _steps: { run, count } };
        const content = `I stopped here: this turn has used its ${most} steps. Ask me to go on, or raise the limit.`;
        return {
          messages: [new AIMessage({ content, additional_kwargs: { stopped: "iterations" } })],
          jumpTo: "end",
        };
      },
    },
  }) as AgentMiddleware;
}

/** A call whose arguments are no JSON is answered, and the model asked again. */
export const mendedCalls = createMiddleware({
  name: "mended_calls",
  afterModel: {
    canJumpTo: ["model"],
    hook: (state) => {
      const last = state.messages.at(-1);
      if (!AIMessage.isInstance(last) || !last.invalid_tool_calls?.length) return;
      const broken = last.invalid_tool_calls.map((call, index) => ({
        ...call,
        id: call.id ?? `invalid_${index}`,
        name: call.name ?? "unknown",
      }));
      const calls = [
        ...(last.tool_calls ?? []),
        ...broken.map(({ id, name }) => ({ id, name, args: {}, type: "tool_call" as const })),
      ];
      const { id, content, response_metadata, usage_metadata } = last;
      const answers = broken.map(
        ({ id, name, error }) =>
          new ToolMessage({
            tool_call_id: id,
            name,
            status: "error",
            content: `The arguments were not valid JSON${error ? ` (${error})` : ""}. Nothing ran. Send the call again.`,
          }),
      );
      const mended = new AIMessage({
        id,
        content: emptied(content, broken),
        tool_calls: calls,
        response_metadata,
        usage_metadata,
      });
      const open = calls.length > broken.length;
      return { messages: [mended, ...answers], ...(open ? {} : { jumpTo: "model" as const }) };
    },
  },
}) as AgentMiddleware;

/** Anthropic's calls stand in the content too. */
function emptied(content: AIMessage["content"], broken: { id: string }[]): AIMessage["content"] {
  if (!Array.isArray(content)) return content;
  const isBroken = (id: unknown) => broken.some((call) => call.id === id);
  return content
    .filter(({ type }) => type !== "input_json_delta")
    .map((block) => (isBroken(block.id) ? { ...block, input: {} } : block)) as AIMessage["content"];
}

/** What tools answer: pictures by link, refusals as text. A key that is not good any more ends the run. */
export function toolAnswers(images: Images): AgentMiddleware {
  return createMiddleware({
    name: "tool_answers",
    wrapToolCall: async (request, handler) => {
      const { id, name } = request.toolCall;
      try {
        const answer = await handler(request);
        if (ToolMessage.isInstance(answer)) linkPictures(answer, images);
        return answer;
      } catch (error) {
        const fatal = error instanceof ClientError && FATAL.has(error.code);
        if (fatal)
          throw new SandbarError("UNAUTHENTICATED", `The run's key is not good any more: ${error.message}`);
        if (ToolInvocationError.isInstance(error) || request.runtime.signal?.aborted) throw error;
        const content = error instanceof Error ? error.message : String(error);
        return new ToolMessage({ tool_call_id: id!, name, status: "error", content });
      }
    },
  }) as AgentMiddleware;
}

/** Puts a link in the place of each picture that a message brings along. */
export function linkPictures(message: BaseMessage, images: Images): void {
  if (!Array.isArray(message.content)) return;
  message.content = message.content.map((block) => {
    if (!isPicture(block)) return block;
    const url = images.keepUrl(urlOf(block as never));
    return url ? { ...block, image_url: { url } } : block;
  }) as never;
}

/** Asks the model, again where that may help. */
export function modelCalls(chosen: ChosenModel, images: Images, ids: FreshIds, tell: Tell): AgentMiddleware {
  const reader = { ...chosen, find: (url: string) => images.behind(url) };
  let withoutTools = !chosen.callsTools;
  return createMiddleware({
    name: "model_calls",
    wrapModelCall: async (request, handler) => {
      const { signal, configurable } = request.runtime;
      const step = String(configurable?.checkpoint_ns);
      ids.begin(step, request.state.messages);
      const shaped = { ...request, messages: messagesFor(request.messages, reader) };
      const mended = (failure: ProviderFailure) => {
        const news = failure.withoutTools && !withoutTools;
        withoutTools ||= news;
        return news;
      };
      const answer = await patiently({ chosen, tell, signal, mended }, async () =>
        handler(withoutTools ? toolless(shaped) : shaped),
      );
      return whole(ids.renamed(step, answer), chosen.wire);
    },
  }) as AgentMiddleware;
}

const WITHOUT_TOOLS = "This model cannot call tools, so you cannot run code. Say so when code is needed.";

function toolless<T extends { tools: unknown[]; systemMessage: SystemMessage }>(request: T): T {
  const systemMessage = new SystemMessage(`${request.systemMessage.text}\n\n${WITHOUT_TOOLS}`);
  return { ...request, tools: [], systemMessage };
}

/** A streamed answer as the message it has become. */
function whole(answer: AIMessage, wire: Wire): AIMessage {
  const { content, usage_metadata, additional_kwargs, name } = answer;
  const response_metadata = { ...answer.response_metadata, [WIRE_MARK]: wire };
  const parts = (answer as AIMessageChunk).tool_call_chunks ?? [];
  // The packages complete arguments that were cut, and half of a program would run.
  const cut = parts.filter(({ args }) => args && !isJson(args)).map(({ id }) => id);
  const tool_calls = (answer.tool_calls ?? []).filter(({ id }) => !cut.includes(id));
  const invalid_tool_calls = [
    ...(answer.invalid_tool_calls ?? []).filter(({ id }) => !cut.includes(id)),
    ...parts
      .filter(({ id }) => cut.includes(id))
      .map(({ id, name, args }) => ({
        type: "invalid_tool_call" as const,
        id,
        name,
        args,
        error: "it ends too early",
      })),
  ];
  const id = answer.id || crypto.randomUUID();
  const calls = { tool_calls, invalid_tool_calls };
  return new AIMessage({ id, name, content, response_metadata, usage_metadata, additional_kwargs, ...calls });
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

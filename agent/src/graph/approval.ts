/**
 * A human's word before code runs. It is asked and answered as by LangChain's own middleware, which is left out because
 * it drops what was approved when something beside it was rejected, and asks about calls that have their answer.
 *
 * @module
 */
import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { interrupt } from "@langchain/langgraph";
import { SandbarError } from "@sandbar/shared";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { z } from "zod";

const DecisionSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("approve") }),
  z.object({ type: z.literal("reject"), message: z.string().nullish() }),
  z.object({
    type: z.literal("edit"),
    editedAction: z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) }),
  }),
]);
const AnswerSchema = z.object({ decisions: z.array(DecisionSchema) });
type Decision = z.infer<typeof DecisionSchema>;
type Call = NonNullable<AIMessage["tool_calls"]>[number];

/** Waits before calls of these tools; of none when it is not wanted. */
export function approval(tools: readonly string[]): AgentMiddleware {
  return createMiddleware({
    name: "HumanInTheLoopMiddleware",
    afterModel: {
      canJumpTo: ["model"],
      hook: ({ messages }) => {
        const said = messages.findLast((message) => AIMessage.isInstance(message));
        const answered = new Set(
          messages.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : [])),
        );
        const open = (said?.tool_calls ?? []).filter(({ id }) => !answered.has(id ?? ""));
        const asked = open.filter(({ name }) => tools.includes(name));
        if (!said || asked.length === 0) return;
        const decisions = decisionsOn(asked, interrupt(questionsAbout(asked)));
        const rejected = [...decisions].flatMap(([call, decision]) =>
          decision.type === "reject" ? [rejection(call, decision.message ?? "")] : [],
        );
        return {
          messages: [edited(said, decisions), ...rejected],
          ...(rejected.length === open.length ? { jumpTo: "model" as const } : {}),
        };
      },
    },
  }) as AgentMiddleware;
}

function questionsAbout(calls: readonly Call[]) {
  return {
    actionRequests: calls.map(({ name, args }) => ({
      name,
      args,
      description: `Tool execution requires approval\n\nTool: ${name}\nArgs: ${JSON.stringify(args, null, 2)}`,
    })),
    reviewConfigs: calls.map(({ name }) => ({
      actionName: name,
      allowedDecisions: ["approve", "edit", "reject"],
    })),
  };
}

function decisionsOn(calls: readonly Call[], answer: unknown): Map<Call, Decision> {
  const parsed = AnswerSchema.safeParse(answer);
  if (!parsed.success || parsed.data.decisions.length !== calls.length) {
    const kinds =
      '{type: "approve"}, {type: "reject", message?} or {type: "edit", editedAction: {name, args}}';
    throw new SandbarError(
      "VALIDATION_FAILED",
      `command.resume must be {decisions: […]} with ${calls.length} of ${kinds}; the question stays open`,
    );
  }
  return new Map(calls.map((call, at) => [call, parsed.data.decisions[at]!]));
}

const rejection = ({ id, name }: Call, why: string) =>
  new ToolMessage({
    tool_call_id: id!,
    name,
    status: "error",
    content: why.trim() ? `Rejected by the user: ${why.trim()}` : "Rejected by the user; nothing ran.",
  });

/** The message with what runs instead; Anthropic's calls stand in the content too. */
function edited(said: AIMessage, decisions: ReadonlyMap<Call, Decision>): AIMessage {
  const instead = new Map<string | undefined, Pick<Call, "name" | "args">>();
  for (const [{ id }, decision] of decisions)
    if (decision.type === "edit") instead.set(id, decision.editedAction);
  if (instead.size === 0) return said;
  const { id, name, content, response_metadata, usage_metadata } = said;
  const blocks = Array.isArray(content)
    ? content.map((block) => {
        const other = instead.get(block.id as string | undefined);
        return other ? { ...block, name: other.name, input: other.args } : block;
      })
    : content;
  const tool_calls = said.tool_calls!.map((call) => ({ ...call, ...instead.get(call.id) }));
  const { tool_calls: _, ...additional_kwargs } = said.additional_kwargs;
  return new AIMessage({
    ...{ id, name, response_metadata, usage_metadata, additional_kwargs, tool_calls },
    content: blocks as AIMessage["content"],
  });
}

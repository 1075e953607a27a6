import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { inStrictOrder } from "./strict-order.ts";

const call = (id: string) => ({ id, name: "code_sandbox", args: {} });

it("ids become nine letters and digits, the same in a call and its answer; good ones stay", () => {
  const [first, answer, second] = inStrictOrder([
    new AIMessage({ content: "Let me see.", tool_calls: [call("call_1"), call("abcDEF123")] }),
    new ToolMessage({ tool_call_id: "call_1", content: "1" }),
    new ToolMessage({ tool_call_id: "abcDEF123", content: "2" }),
  ]) as [AIMessage, ToolMessage, ToolMessage];
  const [made, kept] = first.tool_calls!;
  expect(made!.id).toMatch(/^[A-Za-z0-9]{9}$/);
  expect(answer.tool_call_id).toBe(made!.id);
  expect([kept!.id, second.tool_call_id]).toEqual(["abcDEF123", "abcDEF123"]);
  expect(first.content).toBe("");
});

it("between a tool's answer and the user the assistant says a word", () => {
  const ordered = inStrictOrder([
    new HumanMessage("plot"),
    new AIMessage({ content: "", tool_calls: [call("a")] }),
    new ToolMessage({ tool_call_id: "a", content: "1" }),
    new HumanMessage("The picture of the result above:"),
  ]);
  expect(ordered.map((message) => message.getType())).toEqual(["human", "ai", "tool", "ai", "human"]);
});

import { AIMessage, AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { FreshIds } from "./fresh-ids.ts";
import { partToWire } from "./wire.ts";

const call = (id: string) => ({ id, name: "code_sandbox", args: { code: "1" }, type: "tool_call" as const });
const thread = [
  new HumanMessage({ id: "q", content: "?" }),
  new AIMessage({ id: "chatcmpl-1", content: "I look", tool_calls: [call("call_0")] }),
  new ToolMessage({ id: "t", tool_call_id: "call_0", content: "1" }),
];

it("parts and the whole of a message have the same new id, where the server's was there before", () => {
  const ids = new FreshIds();
  ids.begin("step", thread);
  const part = new AIMessageChunk({
    id: "chatcmpl-1",
    content: "",
    tool_call_chunks: [{ id: "call_0", name: "code_sandbox", args: "{", index: 0, type: "tool_call_chunk" }],
  });
  const whole = new AIMessage({
    id: "chatcmpl-1",
    content: [{ type: "tool_use", id: "call_0", name: "code_sandbox", input: {} }],
    tool_calls: [call("call_0"), call("call_1")],
  });
  const told = ids.renamed("step", part);
  const kept = ids.renamed("step", whole);
  expect(told.id).toBe(kept.id);
  expect(told.id).not.toBe("chatcmpl-1");
  expect(kept.tool_calls!.map(({ id }) => id)).toEqual([told.tool_call_chunks![0]!.id, "call_1"]);
  expect(kept.content).toMatchObject([{ id: told.tool_call_chunks![0]!.id }]);
  expect(kept.tool_calls![0]!.id).not.toBe("call_0");
  expect(partToWire(told, {})).not.toContain("call_0");
  // What LangChain goes on with is as it was.
  expect(part.id).toBe("chatcmpl-1");
  expect(whole.tool_calls![0]!.id).toBe("call_0");
});

it("ids that are new stay, and so does what no model says", () => {
  const ids = new FreshIds();
  ids.begin("step", thread);
  const message = new AIMessageChunk({ id: "chatcmpl-2", content: "so" });
  expect(ids.renamed("step", message)).toBe(message);
  expect(ids.renamed("another step", thread[1]!)).toBe(thread[1]);
});

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { cutAt, shortened } from "./long-history.ts";

/** Each of 100 tokens. */
const text = "word".repeat(100);
const human = (id: string) => new HumanMessage({ id, content: text });
const ai = (id: string) => new AIMessage({ id, content: text });
const tool = (id: string) => new ToolMessage({ id, tool_call_id: "", content: text });
const ids = (messages: BaseMessage[]) => messages.map(({ id }) => id);

describe("the first message that stays", () => {
  it("is as old as the tokens allow", () => {
    expect(cutAt([human("a"), ai("b"), human("c"), ai("d")], 250)).toBe(2);
    expect(cutAt([human("a"), ai("b"), human("c"), ai("d")], 1_000)).toBe(0);
  });

  it("is no tool's answer: that goes with its call", () => {
    expect(cutAt([human("a"), ai("b"), tool("c"), tool("d"), ai("e"), tool("f")], 350)).toBe(4);
  });

  it("is the call of the newest answer, however long that is", () => {
    expect(cutAt([human("a"), ai("b"), tool("c"), ai("d"), tool("e"), tool("f")], 10)).toBe(3);
  });

  it("is the first when nothing could go", () => {
    expect(cutAt([human("a")], 10)).toBe(0);
  });
});

it("what the summary is about is left out, unless the thread has been cut there", () => {
  const messages = [human("a"), ai("b"), human("c")];
  const told = shortened(messages, { text: "They greeted.", up_to: "b" });
  expect(ids(told)).toEqual(["b-summary", "c"]);
  expect(told[0]!.text).toContain("They greeted.");
  expect(ids(shortened(messages, { text: "Of another branch.", up_to: "x" }))).toEqual(["a", "b", "c"]);
  expect(ids(shortened(messages, undefined))).toEqual(["a", "b", "c"]);
});

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { messagesFor } from "./messages-for-model.ts";

const picture = (url: string) => ({ type: "image_url", image_url: { url } });
const call = (...ids: string[]) =>
  new AIMessage({ content: "", tool_calls: ids.map((id) => ({ id, name: "code_sandbox", args: {} })) });
const answer = (id: string, url: string) =>
  new ToolMessage({ tool_call_id: id, content: [{ type: "text", text: `of ${id}` }, picture(url)] as never });

const find = (url: string) => (url.startsWith("/kept/") ? { mime: "image/png", data: url.slice(6) } : null);
const reader = { wire: "openai" as const, sees: true, seesInTools: false, strictOrder: false, find };

describe("messages for a model", () => {
  it("pictures of tools follow after all answers of one message, as the user's", () => {
    const messages = [
      new HumanMessage("plot"),
      call("a", "b"),
      answer("a", "/kept/AAAA"),
      answer("b", "/kept/BBBB"),
    ];
    const shaped = messagesFor(messages, reader);
    expect(shaped.map((message) => message.getType())).toEqual(["human", "ai", "tool", "tool", "human"]);
    expect(shaped[2]!.content).toBe("of a\n[a picture, shown below]");
    expect(shaped[4]!.content).toMatchObject([
      { text: "The pictures of the results above:" },
      picture("data:image/png;base64,AAAA"),
      picture("data:image/png;base64,BBBB"),
    ]);
  });

  it("pictures stay with their tool where the wire has room for them", () => {
    const shaped = messagesFor([call("a"), answer("a", "/kept/AAAA")], { ...reader, seesInTools: true });
    expect(shaped).toHaveLength(2);
    expect(shaped[1]!.content).toMatchObject([{ text: "of a" }, picture("data:image/png;base64,AAAA")]);
  });

  it("a model that does not see is told that there is a picture", () => {
    const [, shaped] = messagesFor([call("a"), answer("a", "/kept/AAAA")], { ...reader, sees: false });
    expect(shaped!.content).toBe(
      "of a\n[a picture, image/png of 3 bytes: you cannot see pictures, but the user can]",
    );
  });

  it("an answer of another provider is told in words, and nobody has a name where names are refused", () => {
    const blocks = [
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "a", name: "code_sandbox", input: {} },
    ];
    const foreign = new AIMessage({
      content: blocks as never,
      tool_calls: [{ id: "a", name: "code_sandbox", args: {} }],
      response_metadata: { sandbar_wire: "anthropic" },
    });
    const named = new ToolMessage({ tool_call_id: "a", name: "code_sandbox", content: "1" });
    const shaped = messagesFor([foreign, named], reader);
    expect(shaped[0]).toMatchObject({ content: "Let me see.", tool_calls: [{ id: "a" }] });
    expect([shaped[1]!.name, shaped[1]!.content, named.name]).toEqual([undefined, "1", "code_sandbox"]);
    const own = messagesFor([foreign, named], { ...reader, wire: "anthropic" });
    expect(own[0]!.content).toEqual(blocks);
  });

  it("only the newest pictures are shown", () => {
    const ids = Array.from({ length: 10 }, (_, index) => `c${index}`);
    const shaped = messagesFor(
      ids.flatMap((id) => [call(id), answer(id, `/kept/${id}`)]),
      reader,
    );
    const shown = JSON.stringify(shaped.map(({ content }) => content));
    expect(shown.match(/base64,/g)).toHaveLength(8);
    expect(shown).not.toContain("base64,c1");
    expect(shown).toContain("base64,c9");
  });

  it("a call whose answer never came gets one", () => {
    const shaped = messagesFor([call("a", "b"), answer("a", "/gone"), new HumanMessage("go on")], reader);
    expect(shaped.map((message) => message.getType())).toEqual(["ai", "tool", "tool", "human"]);
    expect(shaped[1]).toMatchObject({ tool_call_id: "b", content: "[cancelled before it ended]" });
    expect(shaped[2]!.content).toContain("not there any more");
  });
});

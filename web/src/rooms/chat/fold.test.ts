import type { RunEvent } from "@sandbar/sdk";
import { describe, expect, it } from "vitest";
import { emptyRun, folded } from "./fold.ts";
import { textOf } from "./messages.ts";

const HASH = "a".repeat(64);
const fold = (...events: [string, unknown][]) =>
  events.reduce(
    (view, [event, data], index) => folded(view, { id: String(index + 1), event, data } as RunEvent, 1000),
    emptyRun("r"),
  );
const says = (content: string, node = "model_request"): [string, unknown] => [
  "messages",
  [{ type: "AIMessageChunk", id: "a", content }, { langgraph_node: node }],
];
const custom = (data: object): [string, unknown] => ["custom", { tool_call_id: "c", ...data }];

describe("a run's view", () => {
  it("has what is said as it comes, until the state has it", () => {
    const part = fold(["metadata", { attempt: 1 }], says("Hel"), says("lo"));
    expect(part.said.map(textOf)).toEqual(["Hello"]);
    const whole = fold(says("Hel"), ["values", { messages: [{ type: "ai", id: "a", content: "Hello" }] }]);
    expect([whole.said, whole.messages?.length]).toEqual([[], 1]);
  });

  it("drops what was being said when the run begins again, and keeps what code has put out", () => {
    const view = fold(
      ["metadata", { attempt: 1 }],
      custom({ type: "stdout", id: "1", text: "out" }),
      says("Half"),
      ["metadata", { attempt: 2 }],
    );
    expect(view.said).toEqual([]);
    expect(view.calls.c?.outputs).toEqual([{ kind: "stdout", text: "out" }]);
  });

  it("takes each event once", () => {
    const view = fold(says("once"));
    expect(folded(view, { id: "1", event: says("x")[0], data: says("x")[1] }, 0)).toBe(view);
  });

  it("shows pictures of the thread by their link, and asks for no others", () => {
    const result = (url: string) =>
      fold(custom({ type: "result", id: "1", data: { "image/png": null, url } })).calls.c?.outputs;
    const link = `/langgraph/threads/t/images/${HASH}`;
    expect(result(link)).toEqual([{ kind: "result", data: { "image/png": link } }]);
    expect(result("https://elsewhere.example/x.png")).toEqual([{ kind: "result", data: {} }]);
  });

  it("tells when the provider is asked again, until it answers", () => {
    const retry = { type: "model_retry", attempt: 1, status: 529, detail: "busy", after_ms: 4000 };
    expect(fold(["custom", retry]).retry).toMatchObject({ status: 529, at: 5000 });
    expect(fold(["custom", retry], says("Hi")).retry).toBeNull();
  });

  it("leaves out what a model says for its own use", () => {
    expect(fold(says("in short", "SummarizationMiddleware.before_model")).said).toEqual([]);
  });
});

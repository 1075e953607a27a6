import { describe, expect, it } from "vitest";
import { type CallItem, type ChatState, chatOf, EMPTY_CHAT, endedChat, foldEvent } from "./fold.ts";
import { partialText } from "./partial-text.ts";
import type { RunEvent, ThreadMessage } from "./shapes.ts";

const event = (name: string, data: unknown): RunEvent => ({ id: "1", event: name, data });
const begins = (attempt = 1) => event("metadata", { run_id: "r", attempt });
const says = (id: string, text: string, node = "model_request") =>
  event("messages", [{ type: "AIMessageChunk", id, content: text }, { langgraph_node: node }]);
const writes = (id: string, chunk: object) =>
  event("messages", [{ type: "AIMessageChunk", id, content: "", tool_call_chunks: [chunk] }, {}]);
const custom = (data: object) => event("custom", { session_id: "ses_1", ...data });
const update = (node: string, ...messages: object[]) => event("updates", { [node]: { messages } });
const fold = (events: RunEvent[], from: ChatState = EMPTY_CHAT) => events.reduce(foldEvent, from);

const QUESTION: ThreadMessage = { type: "human", id: "q", content: "Why?" };
const ANSWER: ThreadMessage = {
  type: "ai",
  id: "a",
  content: "Let me look.",
  tool_calls: [{ id: "c", name: "code_sandbox", args: { code: "print(1)" } }],
};
const RESULT: ThreadMessage = {
  type: "tool",
  id: "t",
  tool_call_id: "c",
  content: [
    { type: "text", text: "1" },
    { type: "image_url", image_url: { url: "/langgraph/threads/x/images/1" } },
  ],
  artifact: { session_id: "ses_1", execution_id: "exe_1", status: "ok", duration_ms: 7, artifacts: [] },
};

describe("a chat is folded", () => {
  it("from the messages of a thread", () => {
    const { items } = chatOf({ values: { messages: [QUESTION, ANSWER, RESULT] }, interrupts: {} });
    expect(items).toMatchObject([
      { kind: "user", text: "Why?" },
      { kind: "text", text: "Let me look.", whole: true },
      { kind: "call", code: "print(1)", status: "ok", durationMs: 7, executionId: "exe_1" },
    ]);
    const [output] = (items[2] as CallItem).output;
    expect(output).toEqual({ type: "answer", text: "1", pictures: ["/langgraph/threads/x/images/1"] });
  });

  it("from the events of a run: words, code as it is written, output as it comes", () => {
    const state = fold([
      begins(),
      update("steps.before_model", QUESTION),
      says("a", "Let me "),
      says("a", "look."),
      writes("a", { id: "c", name: "code_sandbox", args: "", index: 0 }),
      writes("a", { args: '{"code":"pri', index: 0 }),
    ]);
    expect(state.items.map(({ kind }) => kind)).toEqual(["user", "text", "call"]);
    expect(state.items[1]).toMatchObject({ text: "Let me look.", whole: false });
    expect(state.items[2]).toMatchObject({ status: "writing", code: "pri" });

    const ran = fold(
      [
        update("model_request", ANSWER),
        custom({ type: "started", tool_call_id: "c" }),
        custom({ type: "stdout", tool_call_id: "c", text: "on" }),
        custom({ type: "stdout", tool_call_id: "c", text: "e\n" }),
        custom({ type: "result", tool_call_id: "c", data: { "image/png": null, url: "/langgraph/p" } }),
        custom({ type: "artifact", tool_call_id: "c", artifact: { name: "out.csv" } }),
      ],
      state,
    );
    expect(ran.items[2]).toMatchObject({
      status: "running",
      code: "print(1)",
      output: [
        { type: "stdout", text: "one\n" },
        { type: "result", url: "/langgraph/p" },
      ],
      artifacts: [{ name: "out.csv" }],
    });
    const end = custom({
      type: "finished",
      tool_call_id: "c",
      execution_id: "e",
      status: "error",
      duration_ms: 3,
    });
    const done = fold([end, update("tools", RESULT), says("b", "So.")], ran);
    expect(done.items).toHaveLength(4);
    expect(done.items[2]).toMatchObject({ status: "error", output: [{ text: "one\n" }, {}], durationMs: 3 });
    expect(done.items[1]).toBe(ran.items[1]);
  });

  it("once, however often a message is told", () => {
    const state = fold([
      update("a", QUESTION, ANSWER),
      update("b", QUESTION, ANSWER, RESULT),
      event("values", { messages: [QUESTION, ANSWER, RESULT] }),
    ]);
    expect(state.items.map(({ kind }) => kind)).toEqual(["user", "text", "call"]);
    expect(foldEvent(state, update("a", QUESTION, ANSWER, RESULT))).toBe(state);
  });

  it("without what was being said when the run begins again, or when the provider is asked again", () => {
    const part = fold([begins(), update("m", QUESTION, ANSWER), update("tools", RESULT), says("b", "Half")]);
    const code = fold([writes("b", { id: "d", name: "terminal", args: '{"command":"ls', index: 0 })], part);
    for (const again of [
      begins(2),
      custom({ type: "model_retry", attempt: 1, detail: "busy", after_ms: 9 }),
    ]) {
      const state = foldEvent(code, again);
      expect(state.items.map(({ id }) => id)).toEqual(["q", "a", "c"]);
    }
    expect(foldEvent(part, begins(1)).items).toHaveLength(4);
  });

  it("with a retry until the next word", () => {
    const retry = { attempt: 2, status: 529, detail: "overloaded", after_ms: 800 };
    const waiting = foldEvent(EMPTY_CHAT, event("custom", { type: "model_retry", ...retry }));
    expect(waiting.retry).toEqual(retry);
    expect(foldEvent(waiting, says("a", "Hi")).retry).toBeNull();
  });

  it("keeps a message whose code has begun, though nobody said that it is whole", () => {
    const running = fold([
      begins(),
      says("a", "Look."),
      writes("a", { id: "c", name: "terminal", args: '{"command":"ls"}', index: 0 }),
      custom({ type: "started", tool_call_id: "c" }),
      begins(2),
    ]);
    expect(running.items).toMatchObject([
      { text: "Look.", whole: true },
      { status: "running", code: "ls", language: "bash" },
    ]);
  });

  it("with two calls at once, each with its own parts and output", () => {
    const state = fold([
      writes("a", { id: "c", name: "code_sandbox", args: '{"code":"o', index: 0 }),
      writes("a", { id: "d", name: "code_sandbox", args: '{"code":"t', index: 1 }),
      writes("a", { args: 'ne"}', index: 0 }),
      writes("a", { args: 'wo"}', index: 1 }),
      custom({ type: "stdout", tool_call_id: "d", text: "2" }),
      custom({ type: "stdout", tool_call_id: "c", text: "1" }),
    ]);
    expect(state.items).toMatchObject([
      { code: "one", output: [{ text: "1" }] },
      { code: "two", output: [{ text: "2" }] },
    ]);
  });

  it("with the questions that wait, until a run goes on", () => {
    const request = { name: "code_sandbox", args: { code: "print(1)" } };
    const asked = foldEvent(
      EMPTY_CHAT,
      event("updates", { __interrupt__: [{ value: { actionRequests: [request] } }] }),
    );
    expect(asked.questions).toEqual([request]);
    expect(
      chatOf({ values: null, interrupts: { task: [{ value: { actionRequests: [request] } }] } }).questions,
    ).toEqual([request]);
    expect(foldEvent(asked, begins()).questions).toEqual([]);
  });

  it("without what a model says for its own use, and with the run's error", () => {
    expect(foldEvent(EMPTY_CHAT, says("s", "A summary", "SummarizationMiddleware.before_model"))).toBe(
      EMPTY_CHAT,
    );
    const summary = {
      type: "human",
      id: "s",
      content: "…",
      additional_kwargs: { lc_source: "summarization" },
    };
    expect(foldEvent(EMPTY_CHAT, update("SummarizationMiddleware.before_model", summary))).toBe(EMPTY_CHAT);
    const error = { error: "MODEL_FAILED", message: "401" };
    expect(foldEvent(EMPTY_CHAT, event("error", error)).error).toEqual(error);
  });

  it("to its end: a call that was cut off says so, one that waits for a human does not", () => {
    const cut = fold([update("m", ANSWER), custom({ type: "started", tool_call_id: "c" })]);
    expect(endedChat(cut).items[1]).toMatchObject({ status: "interrupted" });
    const asked = foldEvent(
      fold([update("m", ANSWER)]),
      event("updates", {
        __interrupt__: [{ value: { actionRequests: [{ name: "code_sandbox", args: {} }] } }],
      }),
    );
    expect(endedChat(asked).items[1]).toMatchObject({ status: "waiting" });
  });
});

describe("a text of an object that is being written", () => {
  it.each([
    ["", null],
    ['{"timeout_s": 5, "co', null],
    ['{"code"', null],
    ['{"code": "', ""],
    ['{"code":"a\\n', "a\n"],
    ['{"code":"a\\', "a"],
    ['{"code":"\\u00e', ""],
    ['{"code":"\\u00e9\\"', 'é"'],
    ['{"other":"\\"code\\":\\"x","code":"y"}', "y"],
    ['{"timeout_s":5,"code":"x"}', "x"],
  ])("%s", (json, text) => expect(partialText(json, "code")).toBe(text));
});

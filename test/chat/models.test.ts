/** The agent and its model's provider: real packages on a scripted wire. No sandbox is needed. */
import { afterEach, describe, expect, it } from "vitest";
import { ask, messagesOf, textOf, useChat } from "../fixtures/chat.ts";
import type { FakeTurn } from "../fixtures/fake-model.ts";
import { eventually } from "../fixtures/stack.ts";

const chat = useChat({ withoutAgent: true });
const { stack, client } = chat;

afterEach(() =>
  client.ok("PUT", "/v1/settings", {
    model: null,
    base_url: null,
    api_keys: null,
    iterations: null,
    approval: null,
  }),
);

async function turn(content: unknown, ...turns: FakeTurn[]) {
  chat.model.script(...turns);
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  const events: { event: string; data: unknown }[] = [];
  for await (const { event, data } of langgraph.runs.stream(thread_id, "agent", {
    ...(ask(content) as object),
    streamMode: ["values", "messages-tuple", "custom"],
  } as never) as AsyncIterable<{ event: string; data: unknown }>)
    events.push({ event, data });
  const { values } = await langgraph.threads.getState(thread_id);
  return { thread_id, events, messages: messagesOf(values) };
}

const custom = (events: { event: string; data: unknown }[]) =>
  events.filter(({ event }) => event === "custom").map(({ data }) => data);

describe.each(["openai", "anthropic"] as const)("a provider that speaks %s", (wire) => {
  const use = () =>
    client.ok("PUT", "/v1/settings", {
      model: wire === "openai" ? "openai:gpt-4o" : "anthropic:claude-sonnet-4-5",
      base_url: chat.model[wire],
      api_key: "sk-of-the-tenant",
    });

  it("streams its answer, with the tenant's own key", async () => {
    await use();
    const { events, messages } = await turn("Hello", { text: "A word, and another one." });
    const parts = events.filter(({ event }) => event === "messages").map(({ data }) => (data as [never])[0]);
    expect(parts.length).toBeGreaterThan(3);
    expect(parts.map(textOf).join("")).toBe("A word, and another one.");
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai"]);
    expect(textOf(messages[1]!)).toBe("A word, and another one.");
    const [request] = chat.model.requests;
    expect(request).toMatchObject({ wire, stream: true, tools: expect.arrayContaining(["code_sandbox"]) });
    expect(request!.key).toContain("sk-of-the-tenant");
    expect(request!.system).toContain("Python");
  });

  it("is asked again when it is too busy, when it says", async () => {
    await use();
    const begun = Date.now();
    const { events, messages } = await turn(
      "Hello",
      { status: 429, headers: { "retry-after": "1" }, message: "slow down" },
      { status: 529, headers: { "retry-after": "0" }, message: "overloaded" },
      { text: "Here I am." },
    );
    expect(Date.now() - begun).toBeGreaterThan(1_000);
    expect(textOf(messages.at(-1)!)).toBe("Here I am.");
    expect(custom(events)).toMatchObject([
      { type: "model_retry", status: 429, after_ms: 1000, detail: expect.stringContaining("slow down") },
      { type: "model_retry", status: 529, after_ms: 0 },
    ]);
  });

  it.each(["cutAfter", "endAfter"] as const)("is asked again when its stream is cut (%s)", async (how) => {
    await use();
    const { messages, events } = await turn(
      "Hello",
      { text: "This will never end", [how]: 3 },
      { text: "The whole." },
    );
    expect(messages.map(textOf)).toEqual(["Hello", "The whole."]);
    expect(custom(events)).toMatchObject([{ type: "model_retry", attempt: 1 }]);
  });

  it("is told when its arguments were no JSON, and nothing has run", async () => {
    await use();
    const { messages } = await turn(
      "Hello",
      { calls: [{ name: "code_sandbox", args: '{"code": "1 +' }] },
      { text: "Sorry." },
    );
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(textOf(messages[2]!)).toMatch(/not valid JSON|did not match/i);
    expect(chat.model.requests[1]!.messages.at(-1)).toMatchObject({ role: "tool" });
  });

  it("fails with what it said when asking again cannot help", async () => {
    await use();
    const { thread_id, events } = await turn("Hello", { status: 401, message: "Incorrect API key" });
    expect(chat.model.requests).toHaveLength(1);
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: { error: "MODEL_FAILED", message: expect.stringMatching(/said 401: .*Incorrect API key/) },
    });
    expect(await chat.langgraph().threads.get(thread_id)).toMatchObject({ status: "error" });
  });

  it("gets the user's pictures if it sees, and never from the state itself", async () => {
    await use();
    const picture = Buffer.from("not really a picture").toString("base64");
    const url = `data:image/png;base64,${picture}`;
    const said = [
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url } },
    ];
    const { messages, thread_id } = await turn(said, { text: "A picture." });
    expect(chat.model.requests[0]!.messages[0]!.images).toEqual([picture]);
    const [, block] = messages[0]!.content as { image_url: { url: string } }[];
    expect(block!.image_url.url).toMatch(new RegExp(`^/langgraph/threads/${thread_id}/images/[0-9a-f]{64}$`));
    const image = await fetch(`${stack.url}${block!.image_url.url}`, { headers: { "x-api-key": stack.key } });
    expect(await image.text()).toBe("not really a picture");
    const other = await stack.clientOf("other-tenant");
    expect((await other.call("GET", block!.image_url.url)).status).toBe(404);
  });
});

it("a model without tools is asked without them", async () => {
  const { messages } = await turn(
    "Hello",
    { status: 400, message: "registry.ollama.ai/library/gemma:2b does not support tools" },
    { text: "Only words." },
  );
  expect(textOf(messages.at(-1)!)).toBe("Only words.");
  expect(chat.model.requests[1]).toMatchObject({
    tools: [],
    system: expect.stringContaining("cannot call tools"),
  });
});

it("the 26th step is refused with a sentence", async () => {
  const call = { calls: [{ name: "no_such_tool", args: {} }] };
  const { messages } = await turn("Go on for ever", ...Array(26).fill(call));
  expect(chat.model.requests).toHaveLength(25);
  expect(textOf(messages.at(-1)!)).toBe(
    "I stopped here: this turn has used its 25 steps. Ask me to go on, or raise the limit.",
  );
});

it("without a model a run is refused, and the answer says what to set", async () => {
  const other = await stack.clientOf("modelless");
  await other.ok("PUT", "/v1/settings", { model: "compatible:x" });
  expect(await other.ok("GET", "/v1/settings")).toMatchObject({
    ready: false,
    missing: expect.stringContaining("base_url"),
  });
  const test = await other.ok("POST", "/v1/settings/test", {});
  expect(test).toMatchObject({ ok: false, detail: expect.stringContaining("base_url") });
});

it("settings never show a key, keep it sealed, and test what they would be", async () => {
  const shown = await client.ok<Record<string, unknown>>("PUT", "/v1/settings", {
    model: "anthropic:claude-sonnet-4-5",
    base_url: chat.model.anthropic,
    api_keys: { anthropic: "sk-ant-secret-1234", groq: "gsk-5678" },
  });
  expect(shown.api_keys).toMatchObject({ anthropic: { set: true, last_four: "1234", from: "settings" } });
  expect(JSON.stringify(shown)).not.toContain("secret");
  chat.model.script({ text: "ready" });
  expect(await client.ok("POST", "/v1/settings/test")).toMatchObject({ ok: true, detail: "ready" });
  chat.model.script({ status: 404, message: "no such model" });
  expect(await client.ok("POST", "/v1/settings/test", { model: "anthropic:claude-99" })).toMatchObject({
    ok: false,
    detail: expect.stringContaining("no such model"),
    model: "anthropic:claude-99",
  });
  // The operator's key is for the operator's address.
  const other = await stack.clientOf("curious");
  await other.ok("PUT", "/v1/settings", { model: "openai:gpt-4o", base_url: chat.model.openai });
  chat.model.script({ text: "ready" });
  await other.ok("POST", "/v1/settings/test");
  expect(chat.model.requests[0]!.key).not.toContain("operator");
  const refused = await other.ok("POST", "/v1/settings/test", { base_url: "http://169.254.169.254/v1" });
  expect(refused).toMatchObject({ ok: false, detail: expect.stringContaining("private network") });
});

it("a run goes on without its caller, unless it was to be cancelled then", async () => {
  const langgraph = chat.langgraph();
  for (const [onDisconnect, status] of [
    ["continue", "success"],
    ["cancel", "interrupted"],
  ] as const) {
    const { thread_id } = await langgraph.threads.create();
    const { promise: until, resolve: go } = Promise.withResolvers<void>();
    chat.model.script({ text: "Late.", until });
    const abort = new AbortController();
    const left = (async () => {
      const options = {
        ...(ask("Hello") as object),
        onDisconnect,
        signal: abort.signal,
        streamMode: "values",
      };
      for await (const { event } of langgraph.runs.stream(thread_id, "agent", options as never))
        if (event === "values") abort.abort();
    })().catch(() => {});
    await left;
    await eventually("the model is asked", 10_000, () => chat.model.requests.length === 1);
    if (status === "success") go();
    await eventually(`the run is ${status}`, 20_000, async () => {
      const [run] = await langgraph.runs.list(thread_id);
      return run?.status === status;
    });
    if (status === "interrupted") {
      await eventually("the model's call is ended", 10_000, () => chat.model.requests[0]!.aborted);
      go();
    }
  }
});

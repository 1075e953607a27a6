/** The agent and its model's provider: real packages on a scripted wire. No sandbox is needed. */
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { ask, messagesOf, textOf, useChat } from "../fixtures/chat.ts";
import { FakeModel, type FakeTurn } from "../fixtures/fake-model.ts";
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

const MODELS = {
  openai: "openai:gpt-4o",
  anthropic: "anthropic:claude-sonnet-4-5",
  google: "google:gemini-flash-latest",
};

describe.each(["openai", "anthropic", "google"] as const)("a provider that speaks %s", (wire) => {
  const use = () =>
    client.ok("PUT", "/v1/settings", {
      model: MODELS[wire],
      base_url: chat.model[wire],
      api_key: "sk-of-the-tenant",
    });

  /** Google says it in the body, the others in a header. */
  const after = (seconds: number): Partial<FakeTurn> =>
    wire === "google"
      ? {
          error: {
            details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: `${seconds}s` }],
          },
        }
      : { headers: { "retry-after": String(seconds) } };

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
      { status: 429, message: "slow down", ...after(1) },
      { status: 529, message: "overloaded", ...after(0) },
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
    expect(textOf(messages.at(-1)!)).toBe("Sorry.");
    // Google sees it itself, and is only asked again.
    if (wire === "google") expect(messages.map(({ type }) => type)).toEqual(["human", "ai"]);
    else {
      expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
      expect(textOf(messages[2]!)).toMatch(/not valid JSON|did not match/i);
      expect(chat.model.requests[1]!.messages.at(-1)).toMatchObject({ role: "tool" });
    }
  });

  it("calls tools, and is told what they answer", async () => {
    await use();
    const { messages } = await turn(
      "Hello",
      { text: "Let me see.", calls: [{ name: "list_datasets", args: {} }] },
      { text: "None." },
    );
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
    expect(messages[1]!.tool_calls).toMatchObject([{ name: "list_datasets", args: {} }]);
    const seen = chat.model.requests[1]!.messages;
    expect(seen.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
    expect(seen[1]).toMatchObject({ text: "Let me see.", calls: [{ name: "list_datasets" }] });
    expect(seen[2]!.text).toContain(textOf(messages[2]!).slice(0, 20));
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

it("a conversation goes on with another provider's model", async () => {
  const key = "sk-any";
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  for (const wire of ["anthropic", "google", "openai", "anthropic"] as const) {
    await client.ok("PUT", "/v1/settings", { model: MODELS[wire], base_url: chat.model[wire], api_key: key });
    chat.model.script(
      { text: `${wire} looks.`, calls: [{ name: "list_datasets", args: {} }] },
      { text: `${wire} says.` },
    );
    const values = await langgraph.runs.wait(thread_id, "agent", ask(`And ${wire}?`));
    expect(textOf(messagesOf(values).at(-1)!)).toBe(`${wire} says.`);
  }
  const roles = chat.model.requests.at(-1)!.messages.map(({ role }) => role);
  expect(roles.filter((role) => role === "tool")).toHaveLength(4);
});

it("Mistral's models get ids and an order of messages that they take, from whatever came before", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  chat.model.script(
    { text: "Let me see.", calls: [{ name: "list_datasets", args: {}, id: "call_of_openai" }] },
    { status: 401, message: "no more" },
  );
  await langgraph.runs.wait(thread_id, "agent", { ...(ask("Look") as object), raiseError: false } as never);
  await client.ok("PUT", "/v1/settings", {
    model: "mistral:mistral-large-latest",
    base_url: chat.model.openai,
    api_key: "sk-mistral",
  });
  chat.model.script({ text: "Done." });
  await langgraph.runs.wait(thread_id, "agent", ask("Go on"));
  const { messages } = chat.model.requests[0]!.raw as {
    messages: { role: string; name?: string; tool_call_id?: string; tool_calls?: { id: string }[] }[];
  };
  expect(messages.map(({ role }) => role)).toEqual([
    "system",
    "user",
    "assistant",
    "tool",
    "assistant",
    "user",
  ]);
  expect(messages[2]!.tool_calls![0]!.id).toMatch(/^[A-Za-z0-9]{9}$/);
  expect(messages[3]!.tool_call_id).toBe(messages[2]!.tool_calls![0]!.id);
});

it("those who speak OpenAI's protocol are sent nothing that one of them refuses", async () => {
  for (const provider of ["mistral", "groq", "xai", "openrouter", "ollama", "compatible"]) {
    await client.ok("PUT", "/v1/settings", {
      model: `${provider}:some-model`,
      base_url: chat.model.openai,
      api_key: "sk-some",
    });
    await turn("Hello", { calls: [{ name: "list_datasets", args: {} }] }, { text: "None." });
    const { raw } = chat.model.requests[1]!;
    expect(Object.keys(raw).sort()).toEqual(["messages", "model", "stream", "tools"]);
    for (const message of raw.messages as object[])
      expect(["content", "role", "tool_call_id", "tool_calls"]).toEqual(
        expect.arrayContaining(Object.keys(message)),
      );
    for (const tool of raw.tools as { type: string; function: object }[]) {
      expect(Object.keys(tool).sort()).toEqual(["function", "type"]);
      expect(Object.keys(tool.function).sort()).toEqual(["description", "name", "parameters"]);
    }
  }
});

it("an address that leads elsewhere is not followed", async () => {
  const elsewhere = await FakeModel.start();
  onTestFinished(() => elsewhere.close());
  for (const wire of ["openai", "anthropic", "google"] as const) {
    await client.ok("PUT", "/v1/settings", {
      model: MODELS[wire],
      base_url: chat.model[wire],
      api_key: "sk-x",
    });
    chat.model.script({ status: 307, headers: { location: `${elsewhere.openai}/chat/completions` } });
    const test = await client.ok<{ ok: boolean; detail: string }>("POST", "/v1/settings/test");
    expect(test).toMatchObject({ ok: false, detail: expect.stringContaining("redirect") });
  }
  expect(elsewhere.requests).toEqual([]);
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

  // LangGraph's clients count otherwise: three answers, and the tools that two of them call.
  chat.model.script(...Array(26).fill(call));
  const { thread_id } = await chat.langgraph().threads.create();
  const bounded = { ...(ask("Go on") as object), config: { recursion_limit: 5 } } as never;
  const values = await chat.langgraph().runs.wait(thread_id, "agent", bounded);
  expect(chat.model.requests).toHaveLength(3);
  expect(textOf(messagesOf(values).at(-1)!)).toContain("used its 3 steps");
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

interface Choices {
  providers: {
    provider: string;
    ready: boolean;
    key: string | null;
    models: string[];
    detail: string | null;
  }[];
}

it("Ollama is offered with its models when it runs, and providers that have a key", async () => {
  const other = await stack.clientOf("choosing");
  const choices = async () => {
    const { providers } = await other.ok<Choices>("GET", "/v1/settings/models");
    return Object.fromEntries(providers.map((provider) => [provider.provider, provider]));
  };
  await other.ok("PUT", "/v1/settings", {
    model: "ollama:x",
    base_url: chat.model.openai,
    api_keys: { groq: "gsk-1" },
  });
  chat.model.pulled = ["qwen3:8b", "nomic-embed-text:latest"];
  expect(await choices()).toMatchObject({
    ollama: { ready: true, models: ["ollama:qwen3:8b"], detail: null },
    groq: { ready: true, key: "settings" },
    openai: { ready: true, key: "environment" },
    anthropic: { ready: false, key: null, detail: expect.stringContaining("API key of anthropic") },
    compatible: { ready: false, detail: expect.stringContaining("base_url") },
  });
  chat.model.pulled = [];
  expect(await choices()).toMatchObject({
    ollama: { ready: false, models: [], detail: "Ollama has no model" },
  });
  for (const [base_url, detail] of [
    ["http://127.0.0.1:9/v1", "No Ollama answers at http://127.0.0.1:9"],
    ["http://10.0.0.1/v1", "private network"],
  ]) {
    await other.ok("PUT", "/v1/settings", { base_url });
    expect(await choices()).toMatchObject({
      ollama: { ready: false, detail: expect.stringContaining(detail!) },
    });
  }
});

it("a run that wants another provider goes to that one's address: no key of the operator's goes astray", async () => {
  const own = await FakeModel.start();
  onTestFinished(() => own.close());
  const other = await stack.clientOf("wishing");
  await other.ok("PUT", "/v1/settings", {
    model: "anthropic:claude-sonnet-4-5",
    base_url: own.anthropic,
    api_key: "sk-own",
  });
  const langgraph = chat.langgraph(other.key);
  const { thread_id } = await langgraph.threads.create();
  const wished = (model: string) =>
    langgraph.runs.wait(thread_id, "agent", {
      ...(ask("Hi") as object),
      config: { configurable: { model } },
    } as never);
  chat.model.script({ text: "Hello." });
  await wished("openai:gpt-4o");
  await wished("anthropic:claude-haiku-4-5");
  expect(chat.model.requests).toMatchObject([{ model: "gpt-4o", key: "Bearer sk-of-the-operator" }]);
  expect(own.requests).toMatchObject([{ model: "claude-haiku-4-5", key: "sk-own" }]);
});

it("an address goes with its provider: the next one's key is not sent there", async () => {
  const other = await stack.clientOf("moving");
  const put = (settings: object) =>
    other.ok<{ base_url: string | null }>("PUT", "/v1/settings", settings).then(({ base_url }) => base_url);
  const api_keys = { groq: "gsk-1", anthropic: "sk-ant" };
  const there = chat.model.openai;
  expect(await put({ model: "groq:some", base_url: there, api_keys })).toBe(there);
  expect(await put({ model: "groq:another" })).toBe(there);
  expect(await put({ model: "anthropic:claude-3-haiku-20240307" })).toBeNull();
  expect(await put({ base_url: chat.model.anthropic })).toBe(chat.model.anthropic);
  chat.model.script({ text: "ready" });
  await other.ok("POST", "/v1/settings/test");
  // More it would refuse.
  expect(chat.model.requests[0]!.raw).toMatchObject({ max_tokens: 4096 });
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

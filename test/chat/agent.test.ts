/** The agent through the whole product: LangGraph's client, a thread's object, a sandbox, a scripted model. */
import type { Client as LangGraph } from "@langchain/langgraph-sdk";
import { expect, it } from "vitest";
import { ask, type Message, messagesOf, run, textOf, useChat } from "../fixtures/chat.ts";
import { eventually } from "../fixtures/stack.ts";

const chat = useChat();
const { stack, client } = chat;

interface Event {
  id?: string;
  event: string;
  data: unknown;
}

async function collect(stream: AsyncIterable<unknown>, into: Event[] = []): Promise<Event[]> {
  for await (const event of stream as AsyncIterable<Event>) into.push(event);
  return into;
}

const MODES = { streamMode: ["values", "messages-tuple", "custom"], streamResumable: true };

const stream = (langgraph: LangGraph, thread: string, content: string, more: object = {}) =>
  langgraph.runs.stream(thread, "agent", { ...(ask(content) as object), ...MODES, ...more } as never);

const customs = (events: Event[]) =>
  events.filter(({ event }) => event === "custom").map(({ data }) => data as Record<string, unknown>);

const sessionOf = async (thread: string) => {
  const { data } = await client.ok<{ data: { id: string }[] }>("GET", `/v1/sessions?key=${thread}`);
  return data[0]!.id;
};

const CSV = "city,rain\nBergen,290\nOslo,80\nTromsø,100\n";
const ANALYSE = `import pandas as pd, matplotlib.pyplot as plt
df = pd.read_csv("/session/rain.csv")
print(df.rain.mean())
df.plot.bar(x="city", y="rain")
df.to_csv("/session/artifacts/sorted.csv")
plt.show()`;

it("analyses a CSV: output and plot as they come, the plot for the model's eyes, an artifact by its link", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  const session = await client.ok<{ id: string }>("POST", "/v1/sessions", { key: thread_id });
  await fetch(`${stack.url}/v1/sessions/${session.id}/files?path=rain.csv`, {
    method: "PUT",
    headers: { authorization: `Bearer ${stack.key}` },
    body: CSV,
  });

  chat.model.script({ text: "Let me look.", calls: [run(ANALYSE)] }, { text: "Bergen is the wettest." });
  const events = await collect(stream(langgraph, thread_id, "Which city is the wettest?"));

  const [first, second] = chat.model.requests;
  expect(first!.system).toContain("/session/rain.csv");
  expect(second!.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
  expect(second!.messages[2]!.text).toContain("156.66");
  const [seen] = second!.messages[3]!.images;
  expect(Buffer.from(seen!, "base64").subarray(1, 4).toString()).toBe("PNG");

  const said = customs(events);
  expect(said.map(({ type }) => type)).toEqual(["started", "stdout", "result", "artifact", "finished"]);
  const { url } = said.find(({ type }) => type === "result")!.data as { url: string };
  const plot = await fetch(`${stack.url}${url}`, { headers: { "x-api-key": stack.key } });
  expect(Buffer.from(await plot.arrayBuffer()).toString("base64")).toBe(seen);

  const messages = messagesOf((await langgraph.threads.getState(thread_id)).values);
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
  const [artifact] = messages[2]!.artifact!.artifacts;
  expect(artifact).toMatchObject({ name: "sorted.csv", url: expect.stringContaining(stack.url) });
  expect(await (await fetch(artifact!.url)).text()).toContain("Bergen");

  chat.model.script({ calls: [run("df.shape")] }, { text: "Three rows." });
  const values = await langgraph.runs.wait(thread_id, "agent", ask("How many rows?"));
  const answer = messagesOf(values).findLast(({ type }) => type === "tool")!;
  expect(textOf(answer)).toContain("(3, 2)");
  expect(await langgraph.threads.search({ metadata: { title: "Which city is the wettest?" } })).toMatchObject(
    [{ thread_id, status: "idle" }],
  );
});

it("two tenants at once have a sandbox each, and see nothing of one another", async () => {
  chat.model.says(({ messages }) => {
    const [question] = messages;
    if (messages.at(-1)!.role === "tool") return { text: messages.at(-1)!.text };
    return { calls: [run(`who = ${JSON.stringify(question!.text)}\nprint(who, "in its own")`)] };
  });
  const other = await stack.clientOf("second");
  const key = other.key;
  const both = [chat.langgraph(), chat.langgraph(key)];
  // The same id on purpose.
  const [mine, theirs] = await Promise.all(
    both.map(async (langgraph, index) => {
      await langgraph.threads.create({ threadId: "shared-name" });
      return langgraph.runs.wait("shared-name", "agent", ask(`tenant ${index}`));
    }),
  );
  expect(textOf(messagesOf(mine).at(-1)!)).toContain("tenant 0 in its own");
  expect(textOf(messagesOf(theirs).at(-1)!)).toContain("tenant 1 in its own");
  const { thread_id } = await both[0]!.threads.create();
  for (const look of [
    () => both[1]!.threads.get(thread_id),
    () => both[1]!.threads.getState(thread_id),
    () => both[1]!.runs.list(thread_id),
    () => both[1]!.threads.delete(thread_id),
  ])
    await expect(look()).rejects.toThrow(/404.*No such thread/s);
  expect((await both[1]!.threads.search()).map((thread) => thread.thread_id)).toEqual(["shared-name"]);
});

/** The client's own reconnecting, when the control plane dies under it. */
async function followed(langgraph: LangGraph, thread: string, runId: string, events: Event[]): Promise<void> {
  const lastEventId = events.findLast(({ id }) => id)?.id;
  await eventually("the control plane answers", 30_000, () =>
    langgraph.runs.get(thread, runId).then(() => true),
  );
  await collect(langgraph.runs.joinStream(thread, runId, { lastEventId } as never), events);
}

it("goes on after kill -9 while code runs: each cell ran once, a reader has every event once", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  const code = `import time
open("/session/ran", "a").write("x")
for i in range(8):
    print("tick", i, flush=True)
    time.sleep(0.5)`;
  chat.model.script(
    { calls: [run(code)] },
    { calls: [run('len(open("/session/ran").read())')] },
    { text: "It ran once." },
  );
  const events: Event[] = [];
  let runId = "";
  const dying = (async () => {
    for await (const event of stream(langgraph, thread_id, "Count") as AsyncIterable<Event>) {
      events.push(event);
      if (event.event === "metadata") runId = (event.data as { run_id: string }).run_id;
      if ((event.data as { type?: string } | null)?.type === "stdout")
        process.kill(stack.workerdPid, "SIGKILL");
    }
  })();
  await dying.catch(() => {});
  await stack.killServer();
  await stack.startServer();
  await followed(langgraph, thread_id, runId, events);

  const ids = events.flatMap(({ id }) => (id ? [Number(id)] : []));
  expect(ids).toEqual(ids.map((_, index) => index + 1));
  const ticks = customs(events)
    .filter(({ type }) => type === "stdout")
    .map(({ text }) => text as string)
    .join("");
  expect(ticks).toBe(Array.from({ length: 8 }, (_, i) => `tick ${i}\n`).join(""));
  const messages = messagesOf((await langgraph.threads.getState(thread_id)).values);
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai", "tool", "ai"]);
  expect(textOf(messages[4]!)).toContain("1");
  expect(textOf(messages.at(-1)!)).toBe("It ran once.");
  expect(events.filter(({ event }) => event === "metadata").map(({ data }) => data)).toMatchObject([
    { attempt: 1 },
    { attempt: 2 },
  ]);
  const { data } = await client.ok<{ data: unknown[] }>(
    "GET",
    `/v1/sessions/${await sessionOf(thread_id)}/executions`,
  );
  expect(data).toHaveLength(2);
});

it("goes on after kill -9 in the middle of the model's answer, by itself, and says it once", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  chat.model.script(
    { calls: [run('open("/session/once", "a").write("x")')] },
    { text: "This answer will be cut in the middle of it.", pieceMs: 200 },
    { calls: [run('len(open("/session/once").read())')] },
    { text: "The whole answer." },
  );
  const { run_id } = await langgraph.runs.create(thread_id, "agent", {
    ...(ask("Go") as object),
    ...MODES,
  } as never);
  await eventually("the answer has begun", 30_000, () => chat.model.requests.length === 2);
  process.kill(stack.workerdPid, "SIGKILL");
  await stack.killServer();
  await stack.startServer();
  // Nobody asks: its alarm finds it.
  await eventually("the model is asked again", 30_000, () => chat.model.requests.length === 4);
  const values = await langgraph.runs.join(thread_id, run_id);
  const messages = messagesOf(values);
  expect(messages.filter(({ type }) => type === "human")).toHaveLength(1);
  expect(messages.map((message: Message) => textOf(message))).not.toContain("This answer");
  expect(textOf(messages.findLast(({ type }) => type === "tool")!)).toContain("1");
  expect(textOf(messages.at(-1)!)).toBe("The whole answer.");
});

it("cancelling ends the code; the next turn goes on without it", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  chat.model.script(
    { calls: [run("import time\nprint('begun', flush=True)\ntime.sleep(600)")] },
    { text: "Done." },
  );
  const { run_id } = await langgraph.runs.create(thread_id, "agent", {
    ...(ask("Wait") as object),
    ...MODES,
  } as never);
  for await (const { data } of langgraph.runs.joinStream(thread_id, run_id) as AsyncIterable<Event>)
    if ((data as { type?: string } | null)?.type === "stdout") break;
  await langgraph.runs.cancel(thread_id, run_id, true);
  expect(await langgraph.runs.get(thread_id, run_id)).toMatchObject({ status: "interrupted" });
  const session = await sessionOf(thread_id);
  await eventually("the code has ended", 15_000, async () => {
    const { data } = await client.ok<{ data: { status: string }[] }>(
      "GET",
      `/v1/sessions/${session}/executions`,
    );
    return data.every(({ status }) => status === "interrupted");
  });
  const values = await langgraph.runs.wait(thread_id, "agent", ask("Never mind"));
  expect(textOf(messagesOf(values).at(-1)!)).toBe("Done.");
  expect(chat.model.requests[1]!.messages.map(({ role }) => role)).toEqual([
    "user",
    "assistant",
    "tool",
    "user",
  ]);
});

it("waits for a human's word before code runs", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  const config = { configurable: { approval: true } };
  chat.model.script({ calls: [run("print(6 * 7)")] }, { text: "42, then." });
  const asked = await langgraph.runs.wait(thread_id, "agent", {
    ...(ask("What is 6 * 7?") as object),
    config,
  } as never);
  expect(asked).toMatchObject({
    __interrupt__: [
      { value: { actionRequests: [{ name: "code_sandbox", args: { code: "print(6 * 7)" } }] } },
    ],
  });
  expect(await langgraph.threads.get(thread_id)).toMatchObject({ status: "interrupted" });
  const decisions = [
    { type: "edit", editedAction: { name: "code_sandbox", args: { code: "print(6 * 7 + 1)" } } },
  ];
  const values = await langgraph.runs.wait(thread_id, "agent", {
    command: { resume: { decisions } },
  } as never);
  expect(textOf(messagesOf(values).at(-2)!)).toContain("43");
  expect(textOf(messagesOf(values).at(-1)!)).toBe("42, then.");
});

it("a key that was revoked runs no more code", async () => {
  const other = await stack.clientOf("leaving");
  const langgraph = chat.langgraph(other.key);
  const { thread_id } = await langgraph.threads.create();
  const { promise: until, resolve: go } = Promise.withResolvers<void>();
  chat.model.script({ calls: [run("print(1)")], until }, { text: "Done." });
  await langgraph.runs.create(thread_id, "agent", ask("Run"));
  await eventually("the model is asked", 15_000, () => chat.model.requests.length === 1);
  const { data } = await client.ok<{ data: { id: string; tenant: string }[] }>("GET", "/v1/keys");
  await client.call("DELETE", `/v1/keys/${data.find(({ tenant }) => tenant === "leaving")!.id}`);
  go();
  const again = chat.langgraph((await stack.clientOf("leaving")).key);
  await eventually("the run has failed", 30_000, async () => {
    const [run] = await again.runs.list(thread_id);
    return run?.status === "error";
  });
  expect(chat.model.requests).toHaveLength(1);
  await expect(
    again.runs.join(thread_id, (await again.runs.list(thread_id))[0]!.run_id),
  ).resolves.toMatchObject({
    __error__: { error: "UNAUTHENTICATED" },
  });
});

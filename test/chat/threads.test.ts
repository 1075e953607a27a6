/** Threads and runs as LangGraph's clients use them. No sandbox is needed. */
import { expect, it } from "vitest";
import { ask, messagesOf, textOf, useChat } from "../fixtures/chat.ts";
import { eventually } from "../fixtures/stack.ts";

const chat = useChat({ withoutAgent: true });
const { client } = chat;

interface Event {
  event: string;
  data: never;
}

const texts = (values: unknown) => messagesOf(values).map(textOf);

it("a question is edited: the history leads back to before it, and both branches stay", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create({ metadata: { project: "x" } });
  chat.model.says(({ messages }) => ({ text: `answer to ${messages.at(-1)!.text}` }));
  await langgraph.runs.wait(thread_id, "agent", ask("one"));
  await langgraph.runs.wait(thread_id, "agent", ask("two"));
  await langgraph.runs.wait(thread_id, "agent", ask("three"));
  const history = await langgraph.threads.getHistory(thread_id, { limit: 100 });
  const before = history.find(({ values, next }) => texts(values).length === 2 && next.length === 0)!;
  expect(texts(before.values)).toEqual(["one", "answer to one"]);
  const branched = await langgraph.runs.wait(thread_id, "agent", {
    ...(ask("other") as object),
    checkpoint: before.checkpoint,
  } as never);
  expect(texts(branched)).toEqual(["one", "answer to one", "other", "answer to other"]);
  expect(texts((await langgraph.threads.getState(thread_id)).values)).toEqual(texts(branched));
  const old = history[0]!.checkpoint.checkpoint_id!;
  expect(texts((await langgraph.threads.getState(thread_id, old)).values)).toHaveLength(6);
  await expect(langgraph.threads.getState(thread_id, "1f1e307b-0000-6c00-8005-da52c28a04f9")).rejects.toThrow(
    "404",
  );

  await langgraph.threads.updateState(thread_id, {
    values: { messages: [{ role: "user", content: "by hand" }] },
  });
  const copy = await langgraph.threads.copy(thread_id);
  expect(texts((copy as unknown as { values: unknown }).values).at(-1)).toBe("by hand");
  const { thread_id: other } = copy as unknown as { thread_id: string };
  expect(await langgraph.threads.search({ metadata: { project: "x" } })).toHaveLength(2);
  expect(await langgraph.threads.count({ metadata: { project: "y" } })).toBe(0);
  await langgraph.threads.update(other, { metadata: { project: "y" } });
  expect(await langgraph.threads.count({ metadata: { project: "y" } })).toBe(1);
  await langgraph.threads.delete(other);
  await expect(langgraph.threads.get(other)).rejects.toThrow("404");
});

it("a second run on a busy thread waits, is refused, or takes its place", async () => {
  const langgraph = chat.langgraph();
  const begin = async (thread: string, content: string, multitaskStrategy: string) =>
    langgraph.runs.create(thread, "agent", { ...(ask(content) as object), multitaskStrategy } as never);
  const held = async () => {
    const { thread_id } = await langgraph.threads.create();
    const { promise: until, resolve: go } = Promise.withResolvers<void>();
    chat.model.script({ text: "first", until }, { text: "second" });
    const { run_id } = await begin(thread_id, "one", "enqueue");
    await eventually("the model is asked", 10_000, () => chat.model.requests.length === 1);
    return { thread_id, run_id, go };
  };

  const queue = await held();
  await expect(begin(queue.thread_id, "two", "reject")).rejects.toThrow(/409.*THREAD_BUSY/s);
  const second = await begin(queue.thread_id, "two", "enqueue");
  expect(await langgraph.runs.get(queue.thread_id, second.run_id)).toMatchObject({ status: "pending" });
  queue.go();
  expect(texts(await langgraph.runs.join(queue.thread_id, second.run_id))).toEqual([
    "one",
    "first",
    "two",
    "second",
  ]);

  const interrupted = await held();
  const next = await begin(interrupted.thread_id, "two", "interrupt");
  expect(texts(await langgraph.runs.join(interrupted.thread_id, next.run_id))).toEqual([
    "one",
    "two",
    "second",
  ]);
  expect(await langgraph.runs.get(interrupted.thread_id, interrupted.run_id)).toMatchObject({
    status: "interrupted",
  });
  await eventually("the first call is ended", 10_000, () => chat.model.requests[0]!.aborted);

  const rolled = await held();
  const instead = await begin(rolled.thread_id, "two", "rollback");
  expect(texts(await langgraph.runs.join(rolled.thread_id, instead.run_id))).toEqual(["two", "second"]);
  await expect(langgraph.runs.get(rolled.thread_id, rolled.run_id)).rejects.toThrow("404");
  expect(await langgraph.runs.list(rolled.thread_id)).toHaveLength(1);
});

it("streams in every mode, and a run without a thread", async () => {
  const langgraph = chat.langgraph();
  const modes = [
    "values",
    "updates",
    "messages",
    "messages-tuple",
    "debug",
    "tasks",
    "checkpoints",
    "events",
    "custom",
  ];
  chat.model.says(() => ({ text: "Hello to you" }));
  const seen: Event[] = [];
  for await (const event of langgraph.runs.stream(null, "agent", {
    ...(ask("Hi") as object),
    streamMode: modes,
  } as never))
    seen.push(event as Event);
  const kinds = new Set(seen.map(({ event }) => event));
  for (const kind of [
    "metadata",
    "values",
    "updates",
    "messages",
    "messages/metadata",
    "messages/partial",
    "events",
  ])
    expect(kinds).toContain(kind);
  for (const kind of ["debug", "tasks", "checkpoints"]) expect(kinds).toContain(kind);
  expect(kinds).not.toContain("error");
  const last = seen.findLast(({ event }) => event === "messages/partial")!.data as { content: string }[];
  expect(last[0]!.content).toBe("Hello to you");
  expect(texts(seen.findLast(({ event }) => event === "values")!.data)).toEqual(["Hi", "Hello to you"]);
  expect(texts(await langgraph.runs.wait(null, "agent", ask("Hi")))).toEqual(["Hi", "Hello to you"]);
});

it("bad input is refused with a code, never with a 500", async () => {
  const { thread_id } = await chat.langgraph().threads.create();
  const at = `/langgraph/threads/${thread_id}`;
  const cases: [string, string, unknown, number][] = [
    ["POST", "/langgraph/threads", { metadata: 1 }, 400],
    ["POST", "/langgraph/threads", { thread_id }, 409],
    ["POST", "/langgraph/threads", { thread_id: "x".repeat(300) }, 400],
    ["POST", "/langgraph/threads/search", { sort_by: "DROP TABLE" }, 400],
    ["POST", "/langgraph/threads/search", { metadata: { 'a"b': "'" } }, 200],
    ["POST", `${at}/runs`, {}, 400],
    ["POST", `${at}/runs`, { assistant_id: "nobody" }, 404],
    ["POST", `${at}/runs`, { assistant_id: "agent", checkpoint_id: "nope" }, 404],
    ["POST", `${at}/runs/stream`, { assistant_id: "agent", stream_mode: ["everything"] }, 400],
    ["POST", `${at}/state`, { values: { messages: [{ nonsense: true }] } }, 400],
    ["POST", `${at}/state`, { values: {}, as_node: "nowhere" }, 400],
    ["POST", "/langgraph/threads/none/runs", { assistant_id: "agent" }, 404],
    ["GET", `${at}/runs/none/stream`, undefined, 404],
    ["GET", `${at}/runs?limit=many`, undefined, 400],
    ["GET", `${at}/runs/none/stream?stream_mode=[`, undefined, 400],
    ["DELETE", `${at}/runs/none`, undefined, 404],
    ["GET", "/langgraph/nowhere", undefined, 404],
    ["PUT", "/v1/settings", { model: "nobody:x" }, 400],
    ["PUT", "/v1/settings", { base_url: "file:///etc/passwd" }, 400],
    ["PUT", "/v1/settings", { surprise: 1 }, 400],
  ];
  for (const [method, path, body, status] of cases) {
    const answer = await client.call(method, path, body);
    expect([method, path, answer.status]).toEqual([method, path, status]);
  }
  const wait = await chat
    .langgraph()
    .runs.wait(thread_id, "agent", { input: { messages: [{ no: 1 }] }, raiseError: false } as never);
  expect(wait).toMatchObject({ __error__: { error: "VALIDATION_FAILED" } });
});

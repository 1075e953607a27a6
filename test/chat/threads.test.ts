/** Threads and runs as LangGraph's clients use them. No sandbox is needed. */
import { expect, it } from "vitest";
import { ask, collect, type Message, messagesOf, stream, textOf, useChat } from "../fixtures/chat.ts";
import { eventually, REPO } from "../fixtures/stack.ts";

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
  const points = (await client.ok("GET", `/langgraph/threads/${thread_id}/checkpoints`)) as {
    checkpoint_id: string;
    source: string;
    parent_checkpoint_id: string | null;
  }[];
  const asked = points.filter(({ source }) => source === "input");
  expect(asked).toHaveLength(4);
  expect(asked[3]!.parent_checkpoint_id).toBe(asked[1]!.parent_checkpoint_id);
  const old = history[0]!.checkpoint.checkpoint_id!;
  expect(texts((await langgraph.threads.getState(thread_id, old)).values)).toHaveLength(6);
  await expect(langgraph.threads.getState(thread_id, "1f1e307b-0000-6c00-8005-da52c28a04f9")).rejects.toThrow(
    "404",
  );

  // From before the first question too.
  const first = await langgraph.runs.wait(thread_id, "agent", {
    ...(ask("anew") as object),
    checkpointId: asked[0]!.checkpoint_id,
  } as never);
  expect(texts(first)).toEqual(["anew", "answer to anew"]);

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

it("an answer is given anew from before its question, and a copy of the thread goes its own way", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  let said = 0;
  chat.model.says(() => ({ text: `answer ${++said}` }));
  for (const question of ["one", "two"]) await langgraph.runs.wait(thread_id, "agent", ask(question));
  const points = (await client.ok("GET", `/langgraph/threads/${thread_id}/checkpoints`)) as {
    checkpoint_id: string;
    source: string;
  }[];
  const questions = points.filter(({ source }) => source === "input");
  const anew = (checkpointId: string) =>
    langgraph.runs.wait(thread_id, "agent", { input: null, checkpointId } as never);
  // Of the newest turn, and of one that is long over.
  expect(texts(await anew(questions[1]!.checkpoint_id))).toEqual(["one", "answer 1", "two", "answer 3"]);
  expect(texts(await anew(questions[0]!.checkpoint_id))).toEqual(["one", "answer 4"]);
  expect(chat.model.requests.at(-1)!.messages.map(({ text }) => text)).toEqual(["one"]);
  const history = await langgraph.threads.getHistory(thread_id, { limit: 100 });
  const ends = history.filter(({ next }) => next.length === 0).map(({ values }) => texts(values).join(", "));
  expect(ends).toEqual(
    expect.arrayContaining(["one, answer 4", "one, answer 1, two, answer 3", "one, answer 1, two, answer 2"]),
  );

  const { thread_id: copy } = (await langgraph.threads.copy(thread_id)) as unknown as { thread_id: string };
  const [mine, theirs] = [
    await langgraph.runs.wait(thread_id, "agent", ask("here")),
    await langgraph.runs.wait(copy, "agent", ask("there")),
  ];
  expect(texts(mine)).toEqual(["one", "answer 4", "here", "answer 5"]);
  expect(texts(theirs)).toEqual(["one", "answer 4", "there", "answer 6"]);
  expect(await langgraph.runs.list(copy)).toHaveLength(1);
});

it("chats that are made for LangGraph's servers can follow, edit and ask anew as they are", async () => {
  // What @assistant-ui/react-langgraph does; its packages pull in more than a test should.
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  const shown = new Map<string, Message>();
  const turn = async (messages: object[], checkpoint_id?: string) => {
    const events = await collect(
      langgraph.runs.stream(thread_id, "agent", {
        input: messages.length > 0 ? { messages } : null,
        streamMode: ["messages", "updates", "custom"],
        onDisconnect: "cancel",
        ...(checkpoint_id ? { checkpoint: { checkpoint_id } } : {}),
      } as never),
    );
    // What has no name it would show as something unknown.
    expect(events.filter(({ event, data }) => event === "" || data === null)).toEqual([]);
    for (const { event, data } of events)
      for (const message of event.startsWith("messages/") && Array.isArray(data) ? data : [])
        shown.set(message.id, message);
    return (await langgraph.threads.getState(thread_id)).values as { messages: Message[] };
  };
  const until = async (parents: readonly Message[]) => {
    const ids = (messages: readonly Message[]) => messages.map(({ id }) => id).join();
    const history = await langgraph.threads.getHistory(thread_id);
    const found = history.find(({ values }) => ids(messagesOf(values)) === ids(parents));
    return found!.checkpoint.checkpoint_id!;
  };
  const human = (id: string) => ({ id, type: "human", content: id });
  const look = { name: "list_datasets", args: {}, id: "call_0" };
  // The fake counts its messages from one after each script, as some servers do.
  for (const question of ["one", "two", "three"]) {
    chat.model.script({ text: "I look.", calls: [look] }, { text: `answer to ${question}` });
    await turn([human(question)]);
  }
  const { messages } = await turn([]);
  expect(messages).toHaveLength(12);
  expect(new Set(messages.map(({ id }) => id)).size).toBe(12);
  const calls = messages.flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id));
  expect(new Set(calls).size).toBe(3);
  for (const message of messages.filter(({ type }) => type === "ai"))
    expect(textOf(shown.get(message.id!)!)).toBe(textOf(message));

  chat.model.script({ text: "anew" });
  const anew = await turn([], await until(messages.slice(0, 9)));
  expect(texts(anew).slice(8)).toEqual(["three", "anew"]);
  chat.model.script({ text: "edited" });
  const edited = await turn([human("other")], await until(messages.slice(0, 4)));
  expect(texts(edited).slice(3)).toEqual(["answer to one", "other", "edited"]);
});

it("parts of a message that is renamed are not told twice", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  for (const text of ["the first answer", "the second answer"]) {
    chat.model.script({ text });
    const events = await collect(stream(langgraph, thread_id, "?", { streamMode: ["messages-tuple"] }));
    const said = events
      .filter(({ event }) => event === "messages")
      .map(({ data }) => (data as [Message])[0])
      .filter(({ type }) => type !== "human");
    expect(said.map(textOf).join("")).toBe(text);
    const last = messagesOf((await langgraph.threads.getState(thread_id)).values).at(-1)!;
    expect(new Set(said.map(({ id }) => id))).toEqual(new Set([last.id]));
  }
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

  const several = await held();
  const waiting = await begin(several.thread_id, "two", "enqueue");
  await langgraph.runs.cancelMany({ threadId: several.thread_id, status: "pending" });
  several.go();
  expect(texts(await langgraph.runs.join(several.thread_id, several.run_id))).toEqual(["one", "first"]);
  await eventually("what waited is cancelled", 10_000, async () => {
    const { status } = await langgraph.runs.get(several.thread_id, waiting.run_id);
    return status === "interrupted";
  });

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
  const { run_id } = (seen.find(({ event }) => event === "metadata") as Event).data as { run_id: string };
  const again = await collect(langgraph.runs.joinStream(null, run_id));
  expect(again.map(({ event }) => event)).toEqual(seen.map(({ event }) => event));
});

it("a run waits for its time, and another one goes before it; cancelled, it never begins", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  chat.model.says(({ messages }) => ({ text: `answer to ${messages.at(-1)!.text}` }));
  const begin = (content: string, afterSeconds: number) =>
    langgraph.runs.create(thread_id, "agent", { ...(ask(content) as object), afterSeconds } as never);
  const late = await begin("late", 1.5);
  const never = await begin("never", 3600);
  await langgraph.runs.wait(thread_id, "agent", ask("soon"));
  expect(await langgraph.runs.get(thread_id, late.run_id)).toMatchObject({ status: "pending" });
  await langgraph.runs.cancel(thread_id, never.run_id, true);
  expect(await langgraph.runs.get(thread_id, never.run_id)).toMatchObject({ status: "interrupted" });
  expect(texts(await langgraph.runs.join(thread_id, late.run_id))).toEqual([
    ...["soon", "answer to soon"],
    ...["late", "answer to late"],
  ]);
});

it("a whole thread is read on: what was said before, and what the next run says", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  chat.model.says(() => ({ text: "Hello." }));
  await langgraph.runs.wait(thread_id, "agent", ask("one"));
  const stop = new AbortController();
  const seen: { id?: string; event: string }[] = [];
  const reading = (async () => {
    const options = { lastEventId: "-", signal: stop.signal };
    for await (const event of langgraph.threads.joinStream(thread_id, options)) seen.push(event as never);
  })().catch(() => {});
  const runs = () => seen.filter(({ event }) => event === "metadata").length;
  await eventually("the first run is read", 10_000, () => runs() === 1);
  await langgraph.runs.wait(thread_id, "agent", ask("two"));
  await eventually("the second run is read", 10_000, () => runs() === 2);
  stop.abort();
  await reading;
  const ids = seen.flatMap(({ id }) => id ?? []);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids[0]).toBe("1-1");
  expect(ids.some((id) => id.startsWith("2-"))).toBe(true);
});

it("whoever waits and goes takes the run along, if it was asked to", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  const { promise: until, resolve: go } = Promise.withResolvers<void>();
  chat.model.script({ text: "Late.", until });
  const abort = new AbortController();
  const options = { ...(ask("Hi") as object), onDisconnect: "cancel", signal: abort.signal };
  const waiting = langgraph.runs.wait(thread_id, "agent", options as never).catch(() => {});
  await eventually("the model is asked", 10_000, () => chat.model.requests.length === 1);
  abort.abort();
  await waiting;
  await eventually("the run is interrupted", 20_000, async () => {
    const [run] = await langgraph.runs.list(thread_id);
    return run?.status === "interrupted";
  });
  go();
});

it("stops before and after nodes as asked, and goes on from there", async () => {
  const langgraph = chat.langgraph();
  chat.model.says(({ messages }) =>
    messages.at(-1)!.role === "tool" ? { text: "Done." } : { calls: [{ name: "list_datasets", args: {} }] },
  );
  for (const wish of [{ interruptBefore: ["tools"] }, { interruptAfter: ["model_request"] }]) {
    const { thread_id } = await langgraph.threads.create();
    await langgraph.runs.wait(thread_id, "agent", { ...(ask("Go") as object), ...wish } as never);
    expect(await langgraph.threads.get(thread_id)).toMatchObject({ status: "interrupted" });
    expect((await langgraph.threads.getState(thread_id)).next).not.toEqual([]);
    const values = await langgraph.runs.wait(thread_id, "agent", { input: null } as never);
    expect(texts(values).at(-1)).toBe("Done.");
  }
});

it("another tenant's thread is missing on every route that names one", async () => {
  const { thread_id } = await chat.langgraph().threads.create();
  chat.model.says(() => ({ text: "Hello." }));
  await chat.langgraph().runs.wait(thread_id, "agent", ask("mine"));
  const [run] = await chat.langgraph().runs.list(thread_id);
  const other = await chat.stack.clientOf("looking-around");
  // By its address, since the agent's own types are those of a Worker.
  const { createApi } = await import(`${REPO}/agent/src/api/api.ts`);
  const all: { method: string; path: string }[] = createApi().routes;
  const routes = all.filter(({ path, method }) => path.includes(":thread_id") && method !== "ALL");
  expect(routes.length).toBeGreaterThan(15);
  const body = { assistant_id: "agent", values: {}, checkpoint: {}, metadata: {} };
  for (const { method, path } of routes) {
    const filled = path
      .replace(":thread_id", thread_id)
      .replace(":run_id", run!.run_id)
      .replace(/:\w+/g, "0".repeat(64));
    const answer = await other.call<{ detail: string }>(method, filled, method === "GET" ? undefined : body);
    expect([method, path, answer.status, answer.body.detail]).toEqual([method, path, 404, "No such thread"]);
  }
  expect(texts((await chat.langgraph().threads.getState(thread_id)).values)).toEqual(["mine", "Hello."]);
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
    ["POST", `${at}/runs`, { assistant_id: "agent", input: "Hi" }, 400],
    ["POST", `${at}/runs`, { assistant_id: "agent", input: { messages: [{ content: { a: 1 } }] } }, 400],
    ["POST", `${at}/runs/wait`, { assistant_id: "agent", context: { iterations: 0 } }, 400],
    ["POST", `${at}/state`, { values: { messages: [{ nonsense: true }] } }, 400],
    ["POST", `${at}/state`, { values: {}, as_node: "nowhere" }, 400],
    ["POST", "/langgraph/threads/none/runs", { assistant_id: "agent" }, 404],
    ["GET", `${at}/runs/none/stream`, undefined, 404],
    ["GET", `${at}/runs?limit=many`, undefined, 400],
    ["GET", `${at}/runs/none/stream?stream_mode=[`, undefined, 400],
    ["DELETE", `${at}/runs/none`, undefined, 404],
    ["GET", "/langgraph/nowhere", undefined, 404],
    ["POST", `${at}/runs`, { assistant_id: "agent", webhook: "http://example.com" }, 400],
    ["POST", `${at}/runs`, { assistant_id: "agent", after_seconds: -1 }, 400],
    ["POST", "/langgraph/threads", { supersteps: [] }, 400],
    ["POST", "/langgraph/runs/crons", {}, 422],
    ["PUT", "/langgraph/store/items", {}, 422],
    ["POST", "/langgraph/assistants", {}, 422],
    ["DELETE", "/langgraph/assistants/agent", undefined, 422],
    ["POST", `${at}/commands`, {}, 422],
    ["GET", `${at}/stream?stream_mode=state_update`, undefined, 400],
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

/** The agent through the whole product: LangGraph's client, a thread's object, a sandbox, a scripted model. */
import { expect, it, onTestFinished } from "vitest";
import { ask, collect, customs, messagesOf, run, stream, textOf, useChat } from "../fixtures/chat.ts";
import { eventually } from "../fixtures/stack.ts";

const chat = useChat();
const { stack, client } = chat;

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

  // Beside much output, of which the model reads the ends.
  chat.model.script({ calls: [run("print('x' * 50_000)\ndf.shape")] }, { text: "Three rows." });
  const values = await langgraph.runs.wait(thread_id, "agent", ask("How many rows?"));
  const answer = messagesOf(values).findLast(({ type }) => type === "tool")!;
  expect(textOf(answer)).toContain("(3, 2)");
  expect(textOf(answer).length).toBeLessThan(17_000);
  expect(await langgraph.threads.search({ metadata: { title: "Which city is the wettest?" } })).toMatchObject(
    [{ thread_id, status: "idle" }],
  );

  // It knows what it has lost when its sandbox has ended.
  expect(chat.model.requests[0]!.system).not.toContain("has ended");
  await client.stop(session.id);
  chat.model.script({ text: "Give me the file again." });
  await langgraph.runs.wait(thread_id, "agent", ask("And now?"));
  expect(chat.model.requests[0]!.system).toContain("has ended: its variables and files are gone");
});

it("knows in which language the sandbox runs, and says so with each call", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  await client.ok("POST", "/v1/sessions", { key: thread_id, runtime: "node" });
  chat.model.script({ calls: [run("[1, 2].map((n) => n + 40)")] }, { text: "41 and 42." });
  const events = await collect(stream(langgraph, thread_id, "Add"));
  const [request] = chat.model.requests;
  expect(request!.system).toContain("JavaScript");
  const { tools } = request!.raw as { tools: { function: { name: string; description: string } }[] };
  const { description } = tools.find((tool) => tool.function.name === "code_sandbox")!.function;
  expect(description).toMatch(/^Runs JavaScript/);
  expect(customs(events).find(({ type }) => type === "finished")).toMatchObject({ language: "node" });
  const answer = messagesOf((await langgraph.threads.getState(thread_id)).values)[2]!;
  expect(textOf(answer)).toContain("41, 42");
  expect(answer.artifact).toMatchObject({ language: "node" });
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
  // What is no answer leaves the question open.
  const approve = { type: "approve" };
  for (const resume of ["yes", { decisions: [approve, approve] }, { decisions: [{ type: "maybe" }] }]) {
    const answered = langgraph.runs.wait(thread_id, "agent", { command: { resume } } as never);
    await expect(answered).rejects.toThrow(/VALIDATION_FAILED.*decisions: \[…\]} with 1 of/);
    const { tasks } = await langgraph.threads.getState(thread_id);
    expect(tasks[0]!.interrupts).toHaveLength(1);
  }
  const decisions = [
    { type: "edit", editedAction: { name: "code_sandbox", args: { code: "print(6 * 7 + 1)" } } },
  ];
  const values = await langgraph.runs.wait(thread_id, "agent", {
    command: { resume: { decisions } },
  } as never);
  expect(textOf(messagesOf(values).at(-2)!)).toContain("43");
  expect(textOf(messagesOf(values).at(-1)!)).toBe("42, then.");

  // Of several each has its own answer: what is approved runs, whatever becomes of the others.
  const calls = [
    run("print('no')"),
    { name: "terminal", args: { command: "echo yes" } },
    run("print('never')"),
  ];
  chat.model.script({ calls: [...calls, { name: "list_datasets", args: {} }] }, { text: "Done." });
  await langgraph.runs.wait(thread_id, "agent", { ...(ask("All of it") as object), config } as never);
  const mixed = await langgraph.runs.wait(thread_id, "agent", {
    command: {
      resume: {
        decisions: [
          { type: "reject", message: "too risky" },
          { type: "approve" },
          { type: "edit", editedAction: run("print('other')") },
        ],
      },
    },
  } as never);
  const answers = new Map(messagesOf(mixed).map((message) => [message.tool_call_id, textOf(message)]));
  const told = messagesOf(mixed)
    .findLast(({ tool_calls = [] }) => tool_calls.length > 0)!
    .tool_calls!.map(({ id }) => answers.get(id));
  expect(told).toEqual([
    "Rejected by the user: too risky",
    "yes",
    "other",
    expect.stringContaining("dataset"),
  ]);
  expect(textOf(messagesOf(mixed).at(-1)!)).toBe("Done.");
});

it("in read-only mode it looks at files and runs nothing, whatever the model calls", async () => {
  const langgraph = chat.langgraph();
  const { thread_id } = await langgraph.threads.create();
  const { id } = await client.ok<{ id: string }>("POST", "/v1/sessions", { key: thread_id });
  await fetch(`${stack.url}/v1/sessions/${id}/files?path=rain.csv`, {
    method: "PUT",
    headers: { authorization: `Bearer ${stack.key}` },
    body: CSV,
  });
  chat.model.script(
    { calls: [{ name: "list_files", args: {} }] },
    { calls: [{ name: "read_file", args: { path: "/session/rain.csv" } }] },
    { calls: [{ name: "read_file", args: { path: "/etc/nothing" } }] },
    { calls: [run("open('/session/rain.csv', 'w')"), { name: "terminal", args: { command: "ls" } }] },
    { text: "I may only look." },
  );
  const config = { configurable: { read_only: true } };
  const options = { ...(ask("Look") as object), config } as never;
  const messages = messagesOf(await langgraph.runs.wait(thread_id, "agent", options));
  const [request] = chat.model.requests;
  expect(request!.tools.toSorted()).toEqual(["list_datasets", "list_files", "read_file"]);
  expect(request!.system).toContain("You may only look");
  const answers = messages.filter(({ type }) => type === "tool").map(textOf);
  expect(answers[0]).toContain("/session/rain.csv (file, ");
  expect(answers[1]).toBe(CSV);
  expect(answers[2]).toMatch(/no such file/i);
  for (const answer of answers.slice(3)) expect(answer).toMatch(/not a valid tool|not found/i);
  expect(answers).toHaveLength(5);
  expect(textOf(messages.at(-1)!)).toBe("I may only look.");
  expect(await client.ok("GET", `/v1/sessions/${id}/executions`)).toMatchObject({ data: [] });

  // As a setting of the tenant it holds for every run; before there is a sandbox none is made to look at.
  await client.ok("PUT", "/v1/settings", { read_only: true });
  onTestFinished(() => client.ok("PUT", "/v1/settings", { read_only: null }).then(() => {}));
  const fresh = await langgraph.threads.create();
  chat.model.script({ calls: [{ name: "list_files", args: {} }] }, { text: "Nothing here." });
  const values = await langgraph.runs.wait(fresh.thread_id, "agent", ask("Look"));
  expect(textOf(messagesOf(values)[2]!)).toContain("no sandbox yet");
  expect(await client.ok("GET", `/v1/sessions?key=${fresh.thread_id}`)).toMatchObject({ data: [] });
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

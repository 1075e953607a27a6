/**
 * kill -9 of each part at the worst moments of a run, through the whole product: no code runs twice, the answer arrives
 * by itself, and whoever cancels ends the code.
 */
import { beforeEach, expect, it } from "vitest";
import {
  ask,
  collect,
  customs,
  type Event,
  type Message,
  MODES,
  messagesOf,
  run,
  stream,
  textOf,
  useChat,
} from "../fixtures/chat.ts";
import { eventually } from "../fixtures/stack.ts";

const chat = useChat();
const { stack, client } = chat;
let thread = "";

beforeEach(async () => {
  ({ thread_id: thread } = await chat.langgraph().threads.create());
});

/** Leaves a mark each time that it runs, and takes its time. */
const TICKS = 6;
const ticking = `import time
open("/session/ran", "a").write("x")
for i in range(${TICKS}):
    print("tick", i, flush=True)
    time.sleep(0.4)`;
const TICKED = Array.from({ length: TICKS }, (_, i) => `tick ${i}\n`).join("");

async function sessionOf(): Promise<string> {
  const { data } = await client.ok<{ data: { id: string }[] }>("GET", `/v1/sessions?key=${thread}`);
  return data[0]!.id;
}

/** How often code was begun: as the sandbox has it, and as the control plane has it. */
async function timesRun(): Promise<{ marks: unknown; executions: number }> {
  const session = await sessionOf();
  const { data } = await client.ok<{ data: unknown[] }>("GET", `/v1/sessions/${session}/executions`);
  const { text } = await client.run(session, 'open("/session/ran").read()');
  return { marks: text, executions: data.length };
}

const ONCE = { marks: "'x'", executions: 1 };

async function killControlPlane(): Promise<void> {
  process.kill(stack.workerdPid, "SIGKILL");
  await stack.killServer();
  await stack.startServer();
}

/** Reads a run until the moment has come, and hurts the product then. */
async function struck(
  reading: AsyncIterable<Event>,
  moment: (event: Event) => boolean,
  strike: () => Promise<void>,
): Promise<{ events: Event[]; runId: string }> {
  const events: Event[] = [];
  let runId = "";
  let striking: Promise<void> | undefined;
  const read = async () => {
    for await (const event of reading) {
      events.push(event);
      if (event.event === "metadata") runId = (event.data as { run_id: string }).run_id;
      if (moment(event)) striking ??= strike();
    }
  };
  await read().catch(() => {});
  expect(striking).toBeDefined();
  await striking;
  return { events, runId };
}

const says = (type: string) => (event: Event) => (event.data as { type?: string } | null)?.type === type;

/** The client's own reconnecting, when the control plane dies under it. */
async function followed(runId: string, events: Event[]): Promise<void> {
  const lastEventId = events.findLast(({ id }) => id)?.id;
  const { runs } = chat.langgraph();
  await eventually("the control plane answers", 30_000, () => runs.get(thread, runId).then(() => true));
  await collect(runs.joinStream(thread, runId, { lastEventId } as never), events);
}

function expectEachOnce(events: Event[]): void {
  const ids = events.flatMap(({ id }) => (id ? [Number(id)] : []));
  expect(ids).toEqual(ids.map((_, index) => index + 1));
}

const printed = (events: Event[]) =>
  customs(events)
    .filter(({ type }) => type === "stdout")
    .map(({ text }) => text)
    .join("");

const attempts = (events: Event[]) =>
  events.filter(({ event }) => event === "metadata").map(({ data }) => (data as { attempt: number }).attempt);

const messagesNow = async (): Promise<Message[]> =>
  messagesOf((await chat.langgraph().threads.getState(thread)).values);

it("the control plane dies while code runs: a reader has every event once", async () => {
  // Its page is larger than a row of the object's own database may be.
  const page = `from IPython.display import HTML, display\ndisplay(HTML("x" * 450_000))\n`;
  chat.model.script({ calls: [run(page + ticking)] }, { text: "It ran once." });
  const reading = stream(chat.langgraph(), thread, "Count");
  const { events, runId } = await struck(reading, says("result"), killControlPlane);
  await followed(runId, events);
  expectEachOnce(events);
  expect(customs(events).filter(({ type }) => type === "result")).toHaveLength(1);
  expect(printed(events)).toBe(TICKED);
  expect(attempts(events)).toEqual([1, 2]);
  const messages = await messagesNow();
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
  expect(textOf(messages.at(-1)!)).toBe("It ran once.");
  expect(await timesRun()).toEqual(ONCE);
});

it("the control plane dies between a tool's answer and the next question to the model", async () => {
  chat.model.script({ calls: [run(ticking)] }, { text: "Asked after it." }, { text: "Asked after it." });
  const reading = stream(chat.langgraph(), thread, "Count");
  const { events, runId } = await struck(reading, says("finished"), killControlPlane);
  await followed(runId, events);
  expectEachOnce(events);
  expect(printed(events)).toBe(TICKED);
  expect(customs(events).filter(({ type }) => type === "finished")).toHaveLength(1);
  const messages = await messagesNow();
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
  expect(textOf(messages[2]!)).toContain("tick 5");
  expect(textOf(messages.at(-1)!)).toBe("Asked after it.");
  expect(await timesRun()).toEqual(ONCE);
});

it("the control plane dies in the middle of the model's answer: it goes on by itself, and says it once", async () => {
  chat.model.script(
    { calls: [run(ticking)] },
    { text: "This answer will be cut in the middle of it.", pieceMs: 200 },
    { text: "The whole answer." },
  );
  const options = { ...(ask("Go") as object), ...MODES } as never;
  const { run_id } = await chat.langgraph().runs.create(thread, "agent", options);
  await eventually("the answer has begun", 30_000, () => chat.model.requests.length === 2);
  await killControlPlane();
  // Nobody asks: its alarm finds it.
  await eventually("the model is asked again", 30_000, () => chat.model.requests.length === 3);
  const messages = messagesOf(await chat.langgraph().runs.join(thread, run_id));
  expect(messages.filter(({ type }) => type === "human")).toHaveLength(1);
  expect(messages.map(textOf).join()).not.toContain("This answer");
  expect(textOf(messages.at(-1)!)).toBe("The whole answer.");
  expect(await timesRun()).toEqual(ONCE);
});

it("the control plane dies while an approval waits, and again while the approved code runs", async () => {
  chat.model.script({ calls: [run(ticking)] }, { text: "As you wished." });
  const config = { configurable: { approval: true } };
  const asking = { ...(ask("Count") as object), config } as never;
  const asked = await chat.langgraph().runs.wait(thread, "agent", asking);
  expect(asked).toHaveProperty("__interrupt__");
  await killControlPlane();
  expect(await chat.langgraph().threads.get(thread)).toMatchObject({ status: "interrupted" });
  const { tasks } = await chat.langgraph().threads.getState(thread);
  expect(tasks.flatMap(({ interrupts }) => interrupts)).toMatchObject([
    { value: { actionRequests: [{ name: "code_sandbox", args: { code: ticking } }] } },
  ]);
  expect(chat.model.requests).toHaveLength(1);

  const approving = { command: { resume: { decisions: [{ type: "approve" }] } }, config, ...MODES };
  const reading = chat.langgraph().runs.stream(thread, "agent", approving as never) as AsyncIterable<Event>;
  const { events, runId } = await struck(reading, says("stdout"), killControlPlane);
  await followed(runId, events);
  expectEachOnce(events);
  expect(printed(events)).toBe(TICKED);
  const messages = await messagesNow();
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
  expect(textOf(messages.at(-1)!)).toBe("As you wished.");
  expect(await timesRun()).toEqual(ONCE);
});

it("agent-host dies while code runs: nobody notices", async () => {
  chat.model.script({ calls: [run(ticking)] }, { text: "Nothing happened." });
  const reading = stream(chat.langgraph(), thread, "Count");
  const { events } = await struck(reading, says("stdout"), async () => {
    await stack.killAgent();
    await stack.startAgent();
  });
  expectEachOnce(events);
  expect(printed(events)).toBe(TICKED);
  expect(attempts(events)).toEqual([1]);
  expect(textOf((await messagesNow()).at(-1)!)).toBe("Nothing happened.");
  expect(await timesRun()).toEqual(ONCE);
});

const ENDLESS = `import time
print("begun", flush=True)
try:
    while True:
        open("/session/beats", "a").write("x")
        time.sleep(0.05)
finally:
    # Whoever is interrupted may clean up, and is interrupted once.
    time.sleep(0.5)
    open("/session/ended", "w").write("yes")`;

/** A kernel that answers runs nothing else, and nobody else writes on. */
async function expectSilence(): Promise<void> {
  const session = await sessionOf();
  const { data } = await client.ok<{ data: { status: string }[] }>(
    "GET",
    `/v1/sessions/${session}/executions`,
  );
  expect(data).toMatchObject([{ status: "interrupted" }]);
  const looks = `import os, time
size = os.path.getsize("/session/beats")
time.sleep(0.5)
open("/session/ended").read(), os.path.getsize("/session/beats") - size`;
  expect((await client.run(session, looks)).text).toBe("('yes', 0)");
}

/** A host comes back within ten seconds of the control plane, and later where the machine is busy. */
const codeEnded = () =>
  eventually("the code has ended", 45_000, async () => {
    const path = `/v1/sessions/${await sessionOf()}/executions`;
    const { data } = await client.ok<{ data: { status: string }[] }>("GET", path);
    return data.every(({ status }) => status !== "running" && status !== "queued");
  });

it("cancelling ends the code; the next turn goes on without it", async () => {
  const langgraph = chat.langgraph();
  chat.model.script({ calls: [run(ENDLESS)] }, { text: "Done." });
  const options = { ...(ask("Wait") as object), ...MODES } as never;
  const { run_id } = await langgraph.runs.create(thread, "agent", options);
  for await (const event of langgraph.runs.joinStream(thread, run_id) as AsyncIterable<Event>)
    if (says("stdout")(event)) break;
  await langgraph.runs.cancel(thread, run_id, true);
  expect(await langgraph.runs.get(thread, run_id)).toMatchObject({ status: "interrupted" });
  // Nobody's word is waited for.
  expect(await langgraph.threads.get(thread)).toMatchObject({ status: "idle" });
  await codeEnded();
  await expectSilence();
  const values = await langgraph.runs.wait(thread, "agent", ask("Never mind"));
  expect(textOf(messagesOf(values).at(-1)!)).toBe("Done.");
  expect(chat.model.requests[1]!.messages.map(({ role }) => role)).toEqual([
    ...["user", "assistant", "tool"],
    "user",
  ]);
});

it("cancelling after a crash ends the code that ran on without its run", async () => {
  chat.model.script({ calls: [run(ENDLESS)] }, { text: "Never said." });
  const options = { ...(ask("Wait") as object), ...MODES } as never;
  const { run_id } = await chat.langgraph().runs.create(thread, "agent", options);
  const reading = chat.langgraph().runs.joinStream(thread, run_id) as AsyncIterable<Event>;
  // Whoever reads on would be connected again, and wait for the code.
  for await (const event of reading) if (says("stdout")(event)) break;
  await killControlPlane();
  await chat.langgraph().runs.cancel(thread, run_id, true);
  expect(await chat.langgraph().runs.get(thread, run_id)).toMatchObject({ status: "interrupted" });
  await codeEnded();
  await expectSilence();
  expect(chat.model.requests).toHaveLength(1);
});

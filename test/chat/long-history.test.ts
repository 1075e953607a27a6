/** A conversation that outgrows its model's context. No sandbox is needed. */
import { expect, it } from "vitest";
import { ask, collect, type Event, messagesOf, stream, textOf, useChat } from "../fixtures/chat.ts";
import type { FakeTurn, SeenRequest } from "../fixtures/fake-model.ts";

// Of Ollama's models the context is taken to be 32,000 tokens.
const chat = useChat({ withoutAgent: true, vars: { SANDBAR_MODEL: "ollama:some" } });

const isSummary = ({ messages }: SeenRequest) => messages[0]!.text.includes("older part of a conversation");
const long = (name: string) => `${name}: ${`${name} `.repeat(25_000 / (name.length + 1))}`;
const texts = (values: unknown) => messagesOf(values).map(textOf);

/** Three questions that fit, and a thread in which the next one does not. */
async function filled(): Promise<string> {
  const { thread_id } = await chat.langgraph().threads.create();
  chat.model.says(({ messages }) => ({ text: `about ${messages.at(-1)!.text.slice(0, 5)}` }));
  for (const name of ["first", "other", "third"])
    await chat.langgraph().runs.wait(thread_id, "agent", ask(long(name)));
  expect(chat.model.requests.some(isSummary)).toBe(false);
  return thread_id;
}

const summaries = (...turns: FakeTurn[]) =>
  chat.model.says((request) => (isSummary(request) ? turns.shift()! : { text: "Of course." }));

it("the model goes on with its own summary, the thread keeps every word", async () => {
  const thread = await filled();
  summaries({ text: "They spoke of THE SECRET SUM." });
  const events: Event[] = await collect(stream(chat.langgraph(), thread, long("final")));
  const [asked, answered] = chat.model.requests;
  expect(asked!.tools).toEqual([]);
  expect(asked!.messages[0]!.text).toContain("human: first: first");
  expect(asked!.messages[0]!.text).not.toContain("final");
  const told = answered!.messages.map(({ role, text }) => `${role} ${text.slice(0, 12)}`);
  expect(told).toEqual(["user [A summary o", "assistant about third", "user final: final"]);
  expect(answered!.messages[0]!.text).toContain("THE SECRET SUM");
  // Nobody is shown what the model says to itself as if it were an answer.
  const said = events.filter(({ event }) => event === "messages");
  expect(JSON.stringify(said)).not.toContain("SECRET");
  const all = texts((await chat.langgraph().threads.getState(thread)).values);
  expect(all.map((text) => text.slice(0, 11))).toEqual([
    ...["first: firs", "about first", "other: othe", "about other", "third: thir", "about third"],
    ...["final: fina", "Of course."],
  ]);

  // The summary serves the next turn too, and is made of the one before when that is full.
  chat.model.says((request) => (isSummary(request) ? { text: "SECOND SUM" } : { text: "Yes." }));
  await chat.langgraph().runs.wait(thread, "agent", ask("short"));
  expect(chat.model.requests.map(isSummary)).toEqual([false]);
  expect(chat.model.requests[0]!.messages[0]!.text).toContain("THE SECRET SUM");
  for (const name of ["fifth", "sixth", "seven"])
    await chat.langgraph().runs.wait(thread, "agent", ask(long(name)));
  const again = chat.model.requests.find(isSummary)!;
  expect(again.messages[0]!.text).toContain("THE SECRET SUM");
  expect(again.messages[0]!.text).not.toContain("first: first");
  expect(chat.model.requests.at(-1)!.messages[0]!.text).toContain("SECOND SUM");
});

it("a provider that is too busy for it is asked again; one that refuses fails the run, and nothing is lost", async () => {
  const thread = await filled();
  summaries({ status: 401, message: "no more" });
  const options = { ...(ask(long("final")) as object), raiseError: false } as never;
  expect(await chat.langgraph().runs.wait(thread, "agent", options)).toMatchObject({
    __error__: { error: "MODEL_FAILED", message: expect.stringContaining("no more") },
  });
  expect(texts((await chat.langgraph().threads.getState(thread)).values)).toHaveLength(7);
  summaries({ status: 429, message: "slow down", headers: { "retry-after": "0" } }, { text: "A SUM" });
  const values = await chat.langgraph().runs.wait(thread, "agent", ask("again"));
  expect(texts(values)).toHaveLength(9);
  expect(chat.model.requests.map(isSummary)).toEqual([true, true, false]);
  expect(chat.model.requests[2]!.messages[0]!.text).toContain("A SUM");
});

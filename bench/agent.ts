/**
 * The agent with a fake model that answers at once: the memory of workerd, how long the first word takes, and what
 * others in the same workerd feel while 20 threads run.
 *
 * @module
 */
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { FakeModel } from "@sandbar/test/fixtures/fake-model.ts";
import { Stack } from "@sandbar/test/fixtures/stack.ts";
import { ms, summarize } from "./statistics.ts";

const CROWD = 20;
const ROUNDS = 5;
/** Each turn: a call of a tool, then some 60 pieces of text in about two seconds, as models write. */
const WORDS = "The quick brown fox jumps over the lazy dog again. ".repeat(7);
const PIECE_MS = 30;

export interface AgentFigures {
  readonly memory: string[][];
  readonly latency: string[][];
}

export async function benchAgent(say: (line: string) => void): Promise<AgentFigures> {
  const model = await FakeModel.start();
  const stack = new Stack({
    vars: {
      SANDBAR_MODEL: "openai:gpt-4o",
      SANDBAR_MODEL_BASE_URL: model.openai,
      SANDBAR_MODEL_API_KEY: "sk-fake",
    },
  });
  try {
    await stack.start();
    return await measured(stack, model, say);
  } finally {
    await stack.close();
    await model.close();
  }
}

async function measured(stack: Stack, model: FakeModel, say: (line: string) => void): Promise<AgentFigures> {
  const client = stack.client();
  const { id: session } = await client.create();
  const memory: string[][] = [];
  const remember = (what: string, mb = rss(stack)) => memory.push([what, mb.toFixed(0)]);
  await watched(stack, client, session, sleep(2_000));
  remember("idle, before any thread");

  model.says(() => ({ text: "Hello." }));
  const first = await turn(stack);
  remember("after the first run, which loads LangGraph");
  const firstWords: number[] = [];
  for (let round = 0; round < CROWD; round++) firstWords.push((await turn(stack)).firstWord);
  const rest = await watched(stack, client, session, sleep(3_000));

  const busy: Felt = { health: [], cells: [] };
  const crowded: number[] = [];
  const peaks: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    say(`${CROWD} threads at once, round ${round + 1} of ${ROUNDS}`);
    model.says(({ messages }) =>
      messages.at(-1)!.role === "tool"
        ? { text: WORDS, pieceMs: PIECE_MS }
        : { calls: [{ name: "list_datasets", args: {} }] },
    );
    const all = Promise.all(Array.from({ length: CROWD }, () => turn(stack)));
    let peak = 0;
    const felt = await watched(stack, client, session, all, () => {
      peak = Math.max(peak, rss(stack));
    });
    busy.health.push(...felt.health);
    busy.cells.push(...felt.cells);
    crowded.push(...(await all).map(({ firstWord }) => firstWord));
    peaks.push(peak);
  }
  remember(`${CROWD} threads at once, peak of the first round`, peaks[0]);
  remember(`— of ${ROUNDS} rounds, each of new threads`, Math.max(...peaks));
  await client.stop(session);

  const row = (what: string, samples: number[]) => {
    const { median, p95, n } = summarize(samples);
    return [what, ms(median), ms(p95), ms(Math.max(...samples)), String(n)];
  };
  return {
    memory,
    latency: [
      row("first word, the very first run", [first.firstWord]),
      row("first word, one thread", firstWords),
      row(`first word after a tool's call, ${CROWD} threads at once`, crowded),
      row("`/healthz`, at rest", rest.health),
      row(`\`/healthz\`, while ${CROWD} run`, busy.health),
      row("a plain cell, at rest", rest.cells),
      row(`a plain cell, while ${CROWD} run`, busy.cells),
    ],
  };
}

interface Felt {
  readonly health: number[];
  readonly cells: number[];
}

/** What somebody else feels until the work is done: both questions in turn, with a pause, as a monitor asks. */
async function watched(
  stack: Stack,
  client: Client,
  session: string,
  work: Promise<unknown>,
  look: () => void = () => {},
): Promise<Felt> {
  const felt: Felt = { health: [], cells: [] };
  let done = false;
  const ended = work.finally(() => {
    done = true;
  });
  while (!done) {
    felt.health.push(await timed(() => fetch(`${stack.url}/healthz`).then((answer) => answer.text())));
    felt.cells.push(await timed(() => client.run(session, "1+1")));
    look();
    await sleep(10);
  }
  await ended;
  return felt;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

/** A thread of its own, one question, read to its end. */
async function turn(stack: Stack): Promise<{ firstWord: number }> {
  const headers = { "x-api-key": stack.key, "content-type": "application/json" };
  const post = (path: string, body: object) =>
    fetch(`${stack.url}/langgraph${path}`, { method: "POST", headers, body: JSON.stringify(body) });
  const { thread_id } = (await (await post("/threads", {})).json()) as { thread_id: string };
  const began = performance.now();
  const answer = await post(`/threads/${thread_id}/runs/stream`, {
    assistant_id: "agent",
    input: { messages: [{ role: "user", content: "Go" }] },
    stream_mode: ["messages-tuple", "custom"],
  });
  let firstWord = Number.NaN;
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of answer.body!) {
    text += decoder.decode(chunk, { stream: true });
    if (
      Number.isNaN(firstWord) &&
      /"content":"[^"]+"[^\n]*"type":"AIMessageChunk"|"type":"AIMessageChunk"[^\n]*"content":"[^"]+"/.test(
        text,
      )
    )
      firstWord = performance.now() - began;
  }
  if (Number.isNaN(firstWord) || text.includes("event: error"))
    throw new Error(`a turn without a word: ${text.slice(-1_000)}`);
  return { firstWord };
}

/** Of workerd, in MB. */
function rss({ workerdPid }: Stack): number {
  const status = readFileSync(`/proc/${workerdPid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)![1]) / 1024;
}

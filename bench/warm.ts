/** @module Sessions from the warm pool: create to first result beside `docker run` and beside boxes made from nothing, twenty at once, stop. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { eventually, Stack } from "@sandbar/test/fixtures/stack.ts";
import { dockerRunToFirstResult } from "./baselines.ts";
import { ms, ratio, summarize } from "./statistics.ts";

export const CROWD = 20;
const ROUNDS = 10;
const CROWDS = 3;

export async function benchWarm(say: (line: string) => void): Promise<string[][]> {
  const datasets = { DATASETS_HOST_RO: import.meta.dirname };
  const stack = await Stack.start({
    agentEnv: { ...datasets, SANDBAR_POOL: `python=${CROWD}`, SANDBAR_MAX_SESSIONS: "60" },
  });
  const cold = await Stack.start({ agentEnv: { ...datasets, SANDBAR_POOL_SIZE: "0" } });
  try {
    say(`filling a pool of ${CROWD}`);
    await poolOf(stack, CROWD);
    return await sessions(stack, cold, say);
  } finally {
    await stack.close();
    await cold.close();
  }
}

/** Create and first cell of a session whose folders are the host's. */
async function mounted(client: Client): Promise<number> {
  const began = performance.now();
  const { id } = await client.create({ storage: "BIND", datasets: { access: "LOCAL_RO" } });
  await client.run(id, "1+1");
  const took = performance.now() - began;
  await client.stop(id);
  return took;
}

async function sessions(stack: Stack, cold: Stack, say: (line: string) => void): Promise<string[][]> {
  const client = stack.client();
  const coldClient = cold.client();
  // The first request of all wakes objects and connections.
  for (const first of [client, coldClient]) await first.stop((await first.create()).id);
  await poolOf(stack, CROWD);
  const samples = {
    both: [] as number[],
    create: [] as number[],
    first: [] as number[],
    stop: [] as number[],
    run: [] as number[],
    mounted: [] as number[],
    mountedCold: [] as number[],
  };
  for (let round = 0; round < ROUNDS; round++) {
    samples.run.push(dockerRunToFirstResult());
    const { id, created, took } = await one(client);
    const answered = performance.now();
    await client.stop(id);
    samples.create.push(created);
    samples.first.push(took - created);
    samples.both.push(took);
    samples.stop.push(performance.now() - answered);
    await poolOf(stack, CROWD);
    samples.mounted.push(await mounted(client));
    samples.mountedCold.push(await mounted(coldClient));
    await poolOf(stack, CROWD);
  }
  say(`${CROWD} at once`);
  const crowds: { all: number; each: number[] }[] = [];
  for (let round = 0; round < CROWDS; round++) {
    const { ids, ...times } = await crowd(client);
    crowds.push(times);
    await Promise.all(ids.map((id) => client.stop(id)));
    await poolOf(stack, CROWD);
  }
  const median = (values: number[]) => summarize(values).median;
  const run = median(samples.run);
  const both = median(samples.both);
  const onHost = median(samples.mounted);
  const all = median(crowds.map((round) => round.all));
  return [
    ["`docker run` of IPython to its first result", ms(run), ratio(1)],
    ["warm: `POST /v1/sessions` plus first cell", ms(both), ratio(run / both)],
    ["— of that: create", ms(median(samples.create)), ""],
    ["— of that: first cell", ms(median(samples.first)), ""],
    ["warm, BIND and LOCAL_RO: create plus first cell", ms(onHost), ratio(run / onHost)],
    [
      "the same, made from nothing",
      ms(median(samples.mountedCold)),
      ratio(run / median(samples.mountedCold)),
    ],
    ["warm: stop", ms(median(samples.stop)), ""],
    [`warm: ${CROWD} at once, until all have their first result`, ms(all), ratio(run / all)],
    [`— against one`, `${(all / both).toFixed(1)} ×`, ""],
    [`— of that: each`, ms(median(crowds.flatMap((round) => round.each))), ""],
  ];
}

/** One session until its first result. */
export async function one(client: Client): Promise<{ id: string; created: number; took: number }> {
  const began = performance.now();
  const { id } = await client.create();
  const created = performance.now() - began;
  const { text } = await client.run(id, "1+1");
  if (text !== "2") throw new Error("wrong answer");
  return { id, created, took: performance.now() - began };
}

/** Many at the same moment. */
export async function crowd(client: Client): Promise<{ all: number; each: number[]; ids: string[] }> {
  const began = performance.now();
  const sessions = await Promise.all(Array.from({ length: CROWD }, () => one(client)));
  const all = performance.now() - began;
  return { all, each: sessions.map(({ took }) => took), ids: sessions.map(({ id }) => id) };
}

/** Waits until so many boxes are warm, and the machine has had a moment to itself. */
export async function poolOf(stack: Stack, size: number): Promise<void> {
  await eventually(`a pool of ${size}`, 180_000, () => {
    const db = new DatabaseSync(join(stack.home, "host/journal.sqlite"), { readOnly: true });
    try {
      return Number(db.prepare("SELECT count(*) AS n FROM pool WHERE warm = 1").get()!.n) >= size;
    } finally {
      db.close();
    }
  });
  await sleep(500);
}

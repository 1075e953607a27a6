/** @module Sessions: create cold with its parts, stop, idle memory. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import type { Stack } from "@sandbar/test/fixtures/stack.ts";
import { dockerRunToFirstResult } from "./baselines.ts";
import { ms, ratio, summarize } from "./statistics.ts";

export async function benchSessions(client: Client, rounds = 8): Promise<string[][]> {
  const samples = {
    create: [] as number[],
    first: [] as number[],
    stop: [] as number[],
    run: [] as number[],
  };
  for (let round = 0; round < rounds; round++) {
    let began = performance.now();
    const { id } = await client.create();
    samples.create.push(performance.now() - began);
    began = performance.now();
    await client.run(id, "1+1");
    samples.first.push(performance.now() - began);
    began = performance.now();
    await client.stop(id);
    samples.stop.push(performance.now() - began);
    samples.run.push(dockerRunToFirstResult());
  }
  const both = summarize(samples.create.map((value, index) => value + samples.first[index]!)).median;
  const run = summarize(samples.run).median;
  return [
    ["`docker run` of IPython to its first result", ms(run), ratio(1)],
    ["`POST /v1/sessions` plus first cell", ms(both), ratio(run / both)],
    ["— of that: create", ms(summarize(samples.create).median), ""],
    ["— of that: first cell", ms(summarize(samples.first).median), ""],
    ["stop", ms(summarize(samples.stop).median), ""],
  ];
}

/** Resident memory that the guest and its idle kernel do not share with others, in MB. */
export async function idleMemory(
  stack: Stack,
  client: Client,
): Promise<{ name: string; rss: number; pss: number }[]> {
  const { id } = await client.create();
  await client.run(id, "1+1");
  const container = await stack.containerOf(id);
  const { State } = await container.inspect();
  const pids = execFileSync("pgrep", ["-P", String(State.Pid)], { encoding: "utf8" })
    .trim()
    .split("\n")
    .map(Number);
  const rows = [State.Pid, ...pids].map((pid) => ({
    name: readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").slice(0, 4).join(" "),
    ...memoryOf(pid),
  }));
  await client.stop(id);
  return rows;
}

function memoryOf(pid: number): { rss: number; pss: number } {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  const field = (name: string) =>
    Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(rollup)?.[1] ?? 0) / 1024;
  return { rss: field("Rss"), pss: field("Pss") };
}

/** @module A trivial Python cell over HTTP, side by side with the baselines, and many at once. */
import type { Client } from "@sandbar/test/fixtures/client.ts";
import type { Stack } from "@sandbar/test/fixtures/stack.ts";
import { dockerExecBaseline, jupyterBaseline } from "./baselines.ts";
import { cpuOf, perCell, processesOf, productCpu } from "./cpu.ts";
import { ms, ratio, summarize } from "./statistics.ts";

const ROUNDS = 10;

export async function benchCells(client: Client, say: (line: string) => void): Promise<string[][]> {
  const { id } = await client.create();
  const exec = await dockerExecBaseline();
  const jupyter = await jupyterBaseline(say);
  const samples = { sandbar: [] as number[], jupyter: [] as number[], exec: [] as number[] };
  try {
    await jupyter.cells(50);
    for (let i = 0; i < 100; i++) await client.run(id, "1+1");
    // Interleaved, so that a noisy minute hits all three alike.
    for (let round = 0; round < ROUNDS; round++) {
      for (let i = 0; i < 50; i++) {
        const began = performance.now();
        const { text } = await client.run(id, "1+1");
        samples.sandbar.push(performance.now() - began);
        if (text !== "2") throw new Error("wrong answer");
      }
      samples.jupyter.push(...(await jupyter.cells(50)));
      samples.exec.push(...(await exec.cells(3)));
    }
  } finally {
    await exec.close();
    await jupyter.close();
    await client.stop(id);
  }
  const ours = summarize(samples.sandbar);
  return (["sandbar", "jupyter", "exec"] as const).map((name) => {
    const summary = summarize(samples[name]);
    const label = {
      sandbar: "Sandbar, HTTP client to kernel and back",
      jupyter: "local Jupyter kernel (jupyter_client)",
      exec: "`docker exec` of a Python client per call",
    };
    return [
      label[name],
      ms(summary.median),
      ms(summary.p95),
      String(summary.n),
      ratio(summary.median / ours.median),
    ];
  });
}

/** CPU time that one trivial cell costs each process; the median of rounds. */
export async function benchCpu(stack: Stack, client: Client): Promise<string[][]> {
  const { id } = await client.create();
  for (let i = 0; i < 300; i++) await client.run(id, "1+1");
  const processes = await processesOf(stack, id);
  const rounds: Map<string, number>[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const before = cpuOf(processes);
    for (let i = 0; i < 100; i++) await client.run(id, "1+1");
    rounds.push(perCell(before, cpuOf(processes), 100));
  }
  await client.stop(id);
  const typical = (of: (cpu: Map<string, number>) => number) => ms(summarize(rounds.map(of)).median);
  return [
    ...[...processes.keys()].map((name) => [name, typical((cpu) => cpu.get(name)!)]),
    ["together, without the client", typical(productCpu)],
  ];
}

/** Cells per second in several rounds after one that warms up: a shared machine has good and bad seconds. */
export async function benchThroughput(
  client: Client,
  { clients = 32, sessions = 8, seconds = 5, rounds = 7 } = {},
): Promise<string[][]> {
  const ids = await createSessions(client, sessions);
  const load = { clients, ids, seconds };
  await throughput(client, load);
  const rates: number[] = [];
  for (let i = 0; i < rounds; i++) rates.push(await throughput(client, load));
  await Promise.all(ids.map((id) => client.stop(id)));
  rates.sort((a, b) => a - b);
  const whole = (rate: number) => rate.toFixed(0);
  return [
    [
      `${clients} clients over ${sessions} sessions, ${rounds} rounds of ${seconds} s`,
      whole(summarize(rates).median),
      whole(rates[0]!),
      whole(rates.at(-1)!),
    ],
  ];
}

export async function createSessions(client: Client, n: number): Promise<string[]> {
  const made = await Promise.all(Array.from({ length: n }, () => client.create()));
  return made.map(({ id }) => id);
}

/** Cells per second of many clients at once. */
export async function throughput(
  client: Client,
  { clients, ids, seconds }: { clients: number; ids: readonly string[]; seconds: number },
): Promise<number> {
  let done = 0;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async (_, index) => {
      while (performance.now() - began < seconds * 1000) {
        await client.run(ids[index % ids.length]!, "1+1");
        done++;
      }
    }),
  );
  return done / ((performance.now() - began) / 1000);
}

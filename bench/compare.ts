/**
 * `npm run bench -- compare <folder>`: this tree beside another clone of it, both products up, in rounds that alternate.
 *
 * @module
 */
import { join, resolve } from "node:path";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { Stack } from "@sandbar/test/fixtures/stack.ts";
import { jupyterBaseline } from "./baselines.ts";
import { createSessions, throughput } from "./cells.ts";
import { cpuOf, type Processes, perCell, processesOf, productCpu } from "./cpu.ts";
import { ms, summarize } from "./statistics.ts";

const WARM_UP = 300;
const ROUNDS = 10;
const CELLS = 200;
const BURSTS = 5;
const BURST = { clients: 32, sessions: 8, seconds: 3 };

export async function compareTrees(folder: string, say: (line: string) => void): Promise<string[][]> {
  const other: { Stack: typeof Stack } = await import(join(resolve(folder), "test/fixtures/stack.ts"));
  const jupyter = await jupyterBaseline(say);
  const trees: Tree[] = [];
  try {
    for (const Product of [other.Stack, Stack]) trees.push(await Tree.start(await Product.start()));
    const clock: number[] = await jupyter.cells(50);
    clock.length = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (const tree of round % 2 === 0 ? trees : trees.toReversed()) await tree.cells(CELLS);
      clock.push(...(await jupyter.cells(50)));
    }
    for (let burst = 0; burst <= BURSTS; burst++)
      for (const tree of burst % 2 === 0 ? trees : trees.toReversed()) await tree.burst(burst > 0);
    const median = summarize(clock).median;
    const [theirs, ours] = trees.map((tree) => tree.results(median));
    return [...ours!.keys()].map((what) => {
      const [before, now] = [theirs!.get(what)!, ours!.get(what)!];
      return [what, ms(before), ms(now), (now / before).toFixed(2)];
    });
  } finally {
    for (const tree of trees) await tree.stack.close();
    await jupyter.close();
  }
}

class Tree {
  readonly stack: Stack;
  readonly #client: Client;
  readonly #session: string;
  readonly #processes: Processes;
  readonly #latencies: number[] = [];
  readonly #cpu: Map<string, number>[] = [];
  readonly #rates: number[] = [];
  #crowd: string[] = [];

  private constructor(stack: Stack, client: Client, session: string, processes: Processes) {
    this.stack = stack;
    this.#client = client;
    this.#session = session;
    this.#processes = processes;
  }

  static async start(stack: Stack): Promise<Tree> {
    try {
      const client = stack.client();
      const { id } = await client.create();
      for (let i = 0; i < WARM_UP; i++) await client.run(id, "1+1");
      return new Tree(stack, client, id, await processesOf(stack, id));
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  async cells(n: number): Promise<void> {
    const before = cpuOf(this.#processes);
    for (let i = 0; i < n; i++) {
      const began = performance.now();
      await this.#client.run(this.#session, "1+1");
      this.#latencies.push(performance.now() - began);
    }
    this.#cpu.push(perCell(before, cpuOf(this.#processes), n));
  }

  async burst(counts: boolean): Promise<void> {
    if (this.#crowd.length === 0) this.#crowd = await createSessions(this.#client, BURST.sessions);
    const rate = await throughput(this.#client, { ...BURST, ids: this.#crowd });
    if (counts) this.#rates.push(rate);
  }

  results(jupyterMs: number): Map<string, number> {
    const latency = summarize(this.#latencies);
    const typical = (of: (cpu: Map<string, number>) => number) => summarize(this.#cpu.map(of)).median;
    return new Map([
      ["a trivial cell, median ms", latency.median],
      ["— p95 ms", latency.p95],
      ["— median against a local Jupyter kernel's", latency.median / jupyterMs],
      ["CPU per cell, ms: all of the product", typical(productCpu)],
      ...[...this.#processes.keys()].map((name): [string, number] => [
        `— ${name}`,
        typical((cpu) => cpu.get(name)!),
      ]),
      [`cells/s, ${BURST.clients} clients over ${BURST.sessions} sessions`, summarize(this.#rates).median],
    ]);
  }
}

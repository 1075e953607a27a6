/**
 * `npm run bench -- burst [folder of another clone]`: many sessions at the same moment against one, and what the
 * machine does meanwhile. With a folder, both trees in rounds that alternate.
 *
 * @module
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { Stack } from "@sandbar/test/fixtures/stack.ts";
import { cpuOf, type Processes, perCell } from "./cpu.ts";
import { ms, summarize } from "./statistics.ts";
import { CROWD, crowd, one, poolOf } from "./warm.ts";

const ROUNDS = 3;
const ONES = 2;
const SYNCS = ["fsync", "fdatasync", "sync_file_range", "msync"];

export async function benchBurst(
  folder: string | undefined,
  say: (line: string) => void,
): Promise<string[][]> {
  const products = [Stack];
  if (folder) {
    const other: { Stack: typeof Stack } = await import(join(resolve(folder), "test/fixtures/stack.ts"));
    products.unshift(other.Stack);
  }
  const trees: Tree[] = [];
  try {
    for (const Product of products) {
      say(`filling a pool of ${CROWD}`);
      trees.push(await Tree.start(Product));
    }
    for (let round = 0; round <= ROUNDS; round++)
      for (const tree of round % 2 === 0 ? trees : trees.toReversed()) await tree.round(round > 0);
    for (const tree of trees) await tree.countSyncs();
    const results = trees.map((tree) => tree.results());
    return [...results[0]!.keys()].map((what) => {
      const values = results.map((result) => result.get(what)!);
      const ratio = values.length > 1 ? [(values[1]! / values[0]!).toFixed(2)] : [];
      return [what, ...values.map(ms), ...ratio];
    });
  } finally {
    for (const tree of trees) await tree.stack.close();
  }
}

class Tree {
  readonly stack: Stack;
  readonly #client: Client;
  readonly #ones: number[] = [];
  readonly #crowds: number[] = [];
  readonly #cpuOfOne: Map<string, number>[] = [];
  readonly #cpuOfCrowd: Map<string, number>[] = [];
  readonly #syncs = new Map<string, number>();

  private constructor(stack: Stack) {
    this.stack = stack;
    this.#client = stack.client();
  }

  static async start(Product: typeof Stack): Promise<Tree> {
    const stack = await Product.start({
      agentEnv: { SANDBAR_POOL: `python=${CROWD}`, SANDBAR_MAX_SESSIONS: "60" },
    });
    try {
      await poolOf(stack, CROWD);
      return new Tree(stack);
    } catch (error) {
      await stack.close();
      throw error;
    }
  }

  /** The first wakes objects and connections, and does not count. */
  async round(counts: boolean): Promise<void> {
    for (let i = 0; i < ONES; i++) {
      const before = this.#cpu();
      const { took, id } = await one(this.#client);
      const cpu = perCell(before, this.#cpu(), 1);
      await this.#client.stop(id);
      await poolOf(this.stack, CROWD);
      if (!counts) continue;
      this.#ones.push(took);
      this.#cpuOfOne.push(cpu);
    }
    const before = this.#cpu();
    const { all, ids } = await crowd(this.#client);
    const cpu = perCell(before, this.#cpu(), 1);
    await this.#stop(ids);
    if (!counts) return;
    this.#crowds.push(all);
    this.#cpuOfCrowd.push(cpu);
  }

  /** How often the disk is waited for: in a burst of its own, since whoever is traced is slow. */
  async countSyncs(): Promise<void> {
    const pids = { workerd: this.stack.workerdPid, "agent-host": this.stack.agentPid };
    for (const [name, pid] of Object.entries(pids)) {
      const trace = spawn("strace", ["-f", "-qq", "-e", `trace=${SYNCS.join()}`, "-p", String(pid)], {
        stdio: ["ignore", "ignore", "pipe"],
      });
      let text = "";
      trace.stderr.on("data", (chunk) => {
        text += chunk;
      });
      const attached = () => /TracerPid:\s+[1-9]/.test(readFileSync(`/proc/${pid}/status`, "utf8"));
      while (!attached()) await new Promise((done) => setTimeout(done, 20));
      const { ids } = await crowd(this.#client);
      trace.kill("SIGINT");
      await once(trace, "close");
      this.#syncs.set(name, text.match(/(fsync|fdatasync|sync_file_range|msync)\(/g)?.length ?? 0);
      await this.#stop(ids);
    }
  }

  async #stop(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#client.stop(id)));
    await poolOf(this.stack, CROWD);
  }

  #cpu(): Map<string, number> {
    return new Map([...cpuOf(this.#processes()), ["the whole machine", machineMs()]]);
  }

  #processes(): Processes {
    return new Map([
      ["workerd", [this.stack.workerdPid]],
      ["agent-host", [this.stack.agentPid]],
      ["Docker", pidsOf(/^(dockerd|containerd)$/)],
      ["client", [process.pid]],
    ]);
  }

  results(): Map<string, number> {
    const one = summarize(this.#ones).median;
    const all = summarize(this.#crowds).median;
    const typical = (samples: Map<string, number>[]) =>
      [...samples[0]!.keys()].map((name): [string, number] => [
        name,
        summarize(samples.map((cpu) => cpu.get(name)!)).median,
      ]);
    return new Map([
      ["one: create plus first cell, ms", one],
      [`${CROWD} at once, until all have their first result, ms`, all],
      ["— against one", all / one],
      ["— fastest round, ms", summarize(this.#crowds).min],
      ...typical(this.#cpuOfOne).map(([name, cpu]): [string, number] => [`CPU of one, ms: ${name}`, cpu]),
      ...typical(this.#cpuOfCrowd).map(([name, cpu]): [string, number] => [
        `CPU of ${CROWD}, ms: ${name}`,
        cpu,
      ]),
      ...[...this.#syncs].map(([name, n]): [string, number] => [`syncs of ${CROWD}: ${name}`, n]),
    ]);
  }
}

function pidsOf(name: RegExp): number[] {
  return readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .filter((pid) => {
      try {
        return name.test(readFileSync(`/proc/${pid}/comm`, "utf8").trim());
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** What all cores together have worked since the start; in steps of 10 ms. */
function machineMs(): number {
  const [user, nice, system, , , irq, softirq] = readFileSync("/proc/stat", "utf8")
    .split("\n")[0]!
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user! + nice! + system! + irq! + softirq!) * 10;
}

/** @module Sessions in WebAssembly beside containers, in rounds that alternate: a cell, create plus first cell warm and cold, idle memory. */
import { readdirSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { listGuests } from "@sandbar/agent-host/src/wasm/guest-process.ts";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { docker, Stack } from "@sandbar/test/fixtures/stack.ts";
import { childrenOf, cpuOf, type Processes, productCpu } from "./cpu.ts";
import { ms, ratio, summarize } from "./statistics.ts";
import { one, poolOf } from "./warm.ts";

const ENGINES = ["docker", "wasm"] as const;
const ROUNDS = 10;
const CELLS = 50;
const POOL = 2;
/** Until V8 and the objects of the control plane have compiled what a cell needs. */
const SETTLING_CELLS = 300;
const PROCESSES = ["workerd", "agent-host", "guest", "kernel"];

type EngineName = (typeof ENGINES)[number];
interface Samples {
  readonly ms: number[];
  /** By process. */
  readonly cpu: Map<string, number>[];
}

export async function benchWasm(say: (line: string) => void): Promise<string[][]> {
  const warm = await stacks({ SANDBAR_POOL: `python=${POOL}`, SANDBAR_POOL_MAX: String(POOL) });
  const cold = await stacks({ SANDBAR_POOL_SIZE: "0" });
  try {
    const cells = empty();
    const sessions = { docker: "", wasm: "" };
    for (const engine of ENGINES) {
      sessions[engine] = (await one(warm[engine].client())).id;
      await timed(warm[engine].client(), sessions[engine], SETTLING_CELLS);
    }
    say("cells");
    for (let round = 0; round < ROUNDS; round++)
      for (const engine of ENGINES)
        await measured(cells[engine], warm[engine], CELLS, () =>
          timed(warm[engine].client(), sessions[engine], CELLS),
        );
    const created = { warm: empty(), cold: empty() };
    // While nobody refills a pool: that would be measured, too.
    const settled = () => Promise.all(ENGINES.map((engine) => poolOf(warm[engine], POOL)));
    say("sessions from the pool");
    for (let round = 0; round < ROUNDS; round++)
      for (const engine of ENGINES) {
        await settled();
        await session(created.warm[engine], warm[engine]);
      }
    say("sessions from nothing");
    await settled();
    for (let round = 0; round < ROUNDS; round++)
      for (const engine of ENGINES) await session(created.cold[engine], cold[engine]);
    return [
      ...rows("a trivial cell", cells),
      ...rows("warm: create plus first cell", created.warm),
      ...rows("from nothing: create plus first cell", created.cold),
      ["idle memory of one session in WebAssembly, MB: guest + kernel, PSS", "", idle(warm.wasm, "Pss"), ""],
      ["— the same, RSS", "", idle(warm.wasm, "Rss"), ""],
      [`load of the machine meanwhile (1, 5, 15 minutes; ${cpus().length} cores)`, "", loads(), ""],
    ];
  } finally {
    for (const stack of [...Object.values(warm), ...Object.values(cold)]) await stack.close();
  }
}

const loads = () =>
  loadavg()
    .map((load) => load.toFixed(1))
    .join(", ");

/** The clock's times, and what each kind of process worked for one of `n`: that is what other load does not change much. */
async function measured(
  into: Samples,
  stack: Stack,
  n: number,
  work: () => Promise<number[]>,
): Promise<void> {
  const before = cpuOf(await everybody(stack));
  into.ms.push(...(await work()));
  const after = cpuOf(await everybody(stack));
  into.cpu.push(new Map([...after].map(([name, used]) => [name, (used - before.get(name)!) / n])));
}

/** Whoever works for sessions of this stack, of all of its boxes. What Docker itself does is not counted. */
async function everybody(stack: Stack): Promise<Processes> {
  const containers = await Promise.all(
    (await stack.containers()).map(({ Id }) => docker.getContainer(Id).inspect()),
  );
  const guests = [
    ...containers.map(({ State }) => State.Pid),
    ...(await listGuests(stack.home)).map(({ pid }) => pid),
  ].filter((pid) => pid > 0);
  return new Map([
    ["workerd", [stack.workerdPid]],
    ["agent-host", [stack.agentPid]],
    ["guest", guests],
    ["kernel", guests.flatMap(childrenOf)],
  ]);
}

async function stacks(env: Record<string, string>): Promise<Record<EngineName, Stack>> {
  const start = (engine: EngineName) => Stack.start({ agentEnv: { SANDBAR_ENGINE: engine, ...env } });
  return { docker: await start("docker"), wasm: await start("wasm") };
}

const empty = (): Record<EngineName, Samples> => ({ docker: { ms: [], cpu: [] }, wasm: { ms: [], cpu: [] } });

async function timed(client: Client, session: string, cells: number): Promise<number[]> {
  const times: number[] = [];
  for (let i = 0; i < cells; i++) {
    const began = performance.now();
    const { text } = await client.run(session, "1+1");
    times.push(performance.now() - began);
    if (text !== "2") throw new Error("wrong answer");
  }
  return times;
}

async function session(into: Samples, stack: Stack): Promise<void> {
  const client = stack.client();
  let made = "";
  await measured(into, stack, 1, async () => {
    const { id, took } = await one(client);
    made = id;
    return [took];
  });
  await client.stop(made);
}

function rows(what: string, samples: Record<EngineName, Samples>): string[][] {
  const { docker, wasm } = samples;
  const row = (name: string, of: (samples: Samples) => number[]) => {
    const [container, other] = [summarize(of(docker)).median, summarize(of(wasm)).median];
    return [name, ms(container), ms(other), ratio(other / container)];
  };
  return [
    row(`${what}, ms`, ({ ms: times }) => times),
    row("— CPU time, ms: all of the product", ({ cpu }) => cpu.map(productCpu)),
    ...PROCESSES.map((name) => row(`— CPU time, ms: ${name}`, ({ cpu }) => cpu.map((one) => one.get(name)!))),
  ];
}

/** Of the processes that belong to this stack's boxes, the median of each kind. */
function idle(stack: Stack, kind: "Pss" | "Rss"): string {
  const sizes = { guest: [] as number[], kernel: [] as number[] };
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!command.includes(`${stack.home}/`) || !command.includes("/boxes/")) continue;
      const pattern = new RegExp(`^${kind}:\\s+(\\d+) kB$`, "m");
      const size = pattern.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
      sizes[command.includes("guest/main.") ? "guest" : "kernel"].push(Number(size) / 1024);
    } catch {}
  return [sizes.guest, sizes.kernel].map((found) => summarize(found).median.toFixed(0)).join(" + ");
}

/** @module Sessions in WebAssembly beside containers, in rounds that alternate: a cell, create plus first cell warm and cold, idle memory. */
import { readdirSync, readFileSync } from "node:fs";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { Stack } from "@sandbar/test/fixtures/stack.ts";
import { ms, ratio, summarize } from "./statistics.ts";
import { one, poolOf } from "./warm.ts";

const ENGINES = ["docker", "wasm"] as const;
const ROUNDS = 10;
const CELLS = 50;
const POOL = 2;

type EngineName = (typeof ENGINES)[number];
type Samples = Record<EngineName, number[]>;

export async function benchWasm(say: (line: string) => void): Promise<string[][]> {
  const warm = await stacks({ SANDBAR_POOL: `python=${POOL}`, SANDBAR_POOL_MAX: String(POOL) });
  const cold = await stacks({ SANDBAR_POOL_SIZE: "0" });
  try {
    const cells = empty();
    const sessions = { docker: "", wasm: "" };
    for (const engine of ENGINES) {
      sessions[engine] = (await one(warm[engine].client())).id;
      await timed(warm[engine].client(), sessions[engine], 100);
    }
    say("cells");
    for (let round = 0; round < ROUNDS; round++)
      for (const engine of ENGINES)
        cells[engine].push(...(await timed(warm[engine].client(), sessions[engine], CELLS)));
    say("sessions from the pool, and from nothing");
    const created = { warm: empty(), cold: empty() };
    for (let round = 0; round < ROUNDS; round++)
      for (const engine of ENGINES) {
        await poolOf(warm[engine], POOL);
        created.warm[engine].push(await session(warm[engine].client()));
        created.cold[engine].push(await session(cold[engine].client()));
      }
    return [
      row("a trivial cell, ms", cells),
      row("warm: create plus first cell, ms", created.warm),
      row("from nothing: create plus first cell, ms", created.cold),
      ["idle memory of one session in WebAssembly, MB (PSS: guest, kernel)", "", idle(warm.wasm), ""],
    ];
  } finally {
    for (const stack of [...Object.values(warm), ...Object.values(cold)]) await stack.close();
  }
}

async function stacks(env: Record<string, string>): Promise<Record<EngineName, Stack>> {
  const start = (engine: EngineName) => Stack.start({ agentEnv: { SANDBAR_ENGINE: engine, ...env } });
  return { docker: await start("docker"), wasm: await start("wasm") };
}

const empty = (): Samples => ({ docker: [], wasm: [] });

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

async function session(client: Client): Promise<number> {
  const { id, took } = await one(client);
  await client.stop(id);
  return took;
}

function row(what: string, { docker, wasm }: Samples): string[] {
  const [container, other] = [summarize(docker).median, summarize(wasm).median];
  return [what, ms(container), ms(other), ratio(other / container)];
}

/** Of the processes that belong to this stack's boxes, the median of each kind. */
function idle(stack: Stack): string {
  const sizes = { guest: [] as number[], kernel: [] as number[] };
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name)))
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8");
      if (!command.includes(`${stack.home}/`) || !command.includes("/boxes/")) continue;
      const pss = /^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
      sizes[command.includes("guest/main.ts") ? "guest" : "kernel"].push(Number(pss) / 1024);
    } catch {}
  return [sizes.guest, sizes.kernel].map((found) => summarize(found).median.toFixed(0)).join(" + ");
}

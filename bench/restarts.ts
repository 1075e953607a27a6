/** @module A new Python kernel that has numpy and pandas: started cold, and forked from the session's fork parent. */

import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { eventually } from "@sandbar/test/fixtures/stack.ts";
import { ms, ratio, summarize } from "./statistics.ts";

const ROUNDS = 15;
const IMPORT = "import numpy, pandas";

export async function benchRestarts(client: Client): Promise<string[][]> {
  // With so little memory there is no fork parent.
  const cold = await client.create({ limits: { memory_mb: 384, tmpfs_mb: 64 } });
  const forked = await client.create({ limits: { memory_mb: 1024 } });
  for (const { id } of [cold, forked]) await client.run(id, IMPORT);
  await eventually("a forked kernel", 30_000, async () => {
    await sleep(500);
    await restart(client, forked.id);
    await client.run(forked.id, IMPORT);
    return isForked(client, forked.id);
  });
  const samples = { cold: [] as number[], forked: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    samples.cold.push(await restart(client, cold.id, IMPORT));
    samples.forked.push(await restart(client, forked.id, IMPORT));
  }
  if ((await isForked(client, cold.id)) || !(await isForked(client, forked.id)))
    throw new Error("the kernels are not what they should be");
  await Promise.all([client.stop(cold.id), client.stop(forked.id)]);
  const [slow, fast] = [summarize(samples.cold).median, summarize(samples.forked).median];
  return [
    ["restart, then `import numpy, pandas`: cold", ms(slow), ratio(1)],
    ["the same, forked from a process that has them", ms(fast), ratio(slow / fast)],
  ];
}

async function restart(client: Client, session: string, code = "0"): Promise<number> {
  const began = performance.now();
  await client.ok("POST", `/v1/sessions/${session}/contexts/python/restart`);
  const { status } = await client.run(session, code);
  if (status !== "ok") throw new Error(`the first cell after a restart: ${status}`);
  return performance.now() - began;
}

async function isForked(client: Client, session: string): Promise<boolean> {
  const { text } = await client.run(session, "'fork_parent' in open('/proc/self/cmdline').read()");
  return text === "True";
}

/** @module `echo` in a session's bash, beside `docker exec bash -c` in the same container. */
import { spawnSync } from "node:child_process";
import { docker, type Stack } from "@sandbar/test/fixtures/stack.ts";
import { ms, ratio, summarize } from "./statistics.ts";

const ROUNDS = 10;

export async function benchBash(stack: Stack): Promise<string[][]> {
  const client = stack.client();
  const { id } = await client.create();
  const echo = () => client.run(id, "echo hello", { language: "bash" });
  // As long as the trivial cells.
  for (let i = 0; i < 100; i++) await echo();
  const container = docker.getContainer((await stack.containerOf(id)).id);
  const samples = { ours: [] as number[], exec: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < 20; i++) {
      const began = performance.now();
      await echo();
      samples.ours.push(performance.now() - began);
    }
    const began = performance.now();
    spawnSync("docker", ["exec", container.id, "bash", "-c", "echo hello"]);
    samples.exec.push(performance.now() - began);
  }
  await client.stop(id);
  const ours = summarize(samples.ours).median;
  const exec = summarize(samples.exec).median;
  return [
    ["Sandbar, HTTP client to bash and back", ms(ours), ratio(1)],
    ["`docker exec bash -c`", ms(exec), ratio(exec / ours)],
  ];
}

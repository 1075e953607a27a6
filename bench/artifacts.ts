/** @module Cells that leave artifacts, beside `docker exec` of the same code and `docker exec tar` for its files. */
import { spawnSync } from "node:child_process";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { docker } from "@sandbar/test/fixtures/stack.ts";
import { ms, ratio, summarize } from "./statistics.ts";

const CASES = [
  {
    name: "one artifact of 1 MB",
    files: 1,
    code: `import os; open("/session/artifacts/one.bin", "wb").write(os.urandom(1_000_000))`,
  },
  {
    name: "100 artifacts of 1 KB",
    files: 100,
    code: `import os
for i in range(100): open(f"/session/artifacts/{i}.bin", "wb").write(os.urandom(1000))`,
  },
];

const ROUNDS = 6;
const WARM_UP = 100;

export async function benchArtifacts(client: Client): Promise<string[][]> {
  const { id } = await client.create();
  const container = await docker.createContainer({
    Image: "sandbar/python:latest",
    Entrypoint: ["sleep"],
    Cmd: ["infinity"],
    HostConfig: { NetworkMode: "none", Tmpfs: { "/session/artifacts": "mode=1777" } },
    Labels: { "sandbar.bench": "artifacts" },
  });
  const rows: string[][] = [];
  try {
    await container.start();
    for (const { name, files, code } of CASES) {
      const ours: number[] = [];
      const theirs: number[] = [];
      const run = async () => {
        const began = performance.now();
        const execution = await client.run(id, code);
        const took = performance.now() - began;
        if (execution.artifacts.length !== files) throw new Error("artifacts are missing");
        return took;
      };
      for (let i = 0; i < WARM_UP; i++) await run();
      // Interleaved as the trivial cells are.
      for (let round = 0; round < ROUNDS; round++) {
        for (let i = 0; i < 10; i++) ours.push(await run());
        for (let i = 0; i < 3; i++) {
          const began = performance.now();
          exec(container.id, "python3", "-c", code);
          exec(container.id, "tar", "-C", "/session/artifacts", "-cf", "-", ".");
          exec(container.id, "sh", "-c", "rm -rf /session/artifacts/*");
          theirs.push(performance.now() - began);
        }
      }
      const [a, b] = [summarize(ours), summarize(theirs)];
      rows.push(
        [`cell with ${name}, stored and recorded`, ms(a.median), ms(a.p95), ""],
        ["— `docker exec` of it, `exec tar`, `exec rm`", ms(b.median), ms(b.p95), ratio(b.median / a.median)],
      );
    }
  } finally {
    await container.remove({ force: true });
    await client.stop(id);
  }
  return rows;
}

function exec(container: string, ...command: string[]): void {
  const { status } = spawnSync("docker", ["exec", container, ...command], { maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`docker exec ${command[0]} failed`);
}

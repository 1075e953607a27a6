import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../fixtures/client.ts";
import { DatasetUpstream } from "../fixtures/dataset-source.ts";
import { DatasetClient } from "../fixtures/datasets.ts";
import { Stack } from "../fixtures/stack.ts";

const MB = 1024 * 1024;
const SIZE_MB = 200;
const CACHE_MB = 64;
const SLACK_MB = 64;

describe(`${SIZE_MB} MB datasets are staged in constant memory`, () => {
  let stack: Stack;
  let client: Client;
  let upstream: DatasetUpstream;
  let session: string;
  let datasets: DatasetClient;
  let guestPid: number;
  let hash: string;

  beforeAll(async () => {
    upstream = await DatasetUpstream.start();
    upstream.set("small", Buffer.alloc(16 * MB));
    upstream.set("big", (response) => void Readable.from(chunks(), { highWaterMark: 2 }).pipe(response));
    stack = await Stack.start({ agentEnv: { SANDBAR_DATASET_CACHE_MB: String(CACHE_MB) } });
    client = stack.client();
    const url_template = `${upstream.origin}/datasets/{id}`;
    await client.ok("POST", "/v1/dataset-sources", { name: "lake", url_template, allow_private: true });
    const limits = { memory_mb: 512, tmpfs_mb: 64 };
    session = (await client.create({ storage: "BIND", datasets: { access: "API" }, limits })).id;
    datasets = new DatasetClient(client, session);
    guestPid = (await (await stack.containerOf(session)).inspect()).State.Pid;
    const digest = createHash("sha256");
    for (const chunk of chunks()) digest.update(chunk);
    hash = digest.digest("hex");
    // Code is loaded and buffers are grown once, whatever the size.
    await datasets.stage({ id: "small", source: "lake" });
    await datasets.put("small", Buffer.alloc(16 * MB, 1));
  });
  afterAll(async () => {
    await stack?.close();
    await upstream?.close();
  });

  function* chunks(): Generator<Buffer> {
    const chunk = Buffer.alloc(MB);
    for (let i = 0; i < SIZE_MB; i++) {
      chunk.writeUInt32LE(i, 0);
      yield Buffer.from(chunk);
    }
  }

  const rss = (pid: number) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;

  async function inConstantMemory(what: string, work: () => Promise<void>): Promise<void> {
    const parts = { workerd: stack.workerdPid, daemon: stack.agentPid, guest: guestPid };
    const first = Object.entries(parts).map(([name, pid]) => [name, pid, rss(pid)] as const);
    const grown: Record<string, number> = { workerd: 0, daemon: 0, guest: 0 };
    const timer = setInterval(() => {
      for (const [name, pid, before] of first)
        grown[name] = Math.max(grown[name]!, Math.round(rss(pid) - before));
    }, 50);
    const begun = performance.now();
    await work().finally(() => clearInterval(timer));
    const rate = Math.round(SIZE_MB / ((performance.now() - begun) / 1000));
    console.log(`${what}: ${SIZE_MB} MB at ${rate} MB/s; grew by ${JSON.stringify(grown)} MB`);
    expect(Object.entries(grown).filter(([, mb]) => mb > SLACK_MB)).toEqual([]);
  }

  it("from a source", { timeout: 300_000 }, () =>
    inConstantMemory("source", async () => {
      const { body } = await datasets.stage({ id: "big", source: "lake", sha256: hash });
      expect(body).toMatchObject({ status: "LOADED", size: SIZE_MB * MB, sha256: hash });
    }),
  );

  it("from the caller", { timeout: 300_000 }, () =>
    inConstantMemory("caller", async () => {
      const headers = { "content-length": String(SIZE_MB * MB) };
      const { body } = await datasets.put("own", Readable.from(chunks(), { highWaterMark: 2 }), {}, headers);
      expect(body).toMatchObject({ status: "LOADED", size: SIZE_MB * MB, sha256: hash });
    }),
  );

  it("and leave the cache within its limit; what it let go is fetched again when needed", {
    timeout: 300_000,
  }, async () => {
    const folder = join(stack.home, "datasets/default");
    const kept = readdirSync(folder).map((name) => statSync(join(folder, name)).size);
    expect(kept.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(CACHE_MB * MB);
    expect(upstream.count("big")).toBe(1);
    const remove = `import os; os.unlink("/session/data/big.parquet"); os.unlink("/session/data/own.parquet")`;
    await client.run(session, remove);
    const looked = await client.run(session, `print(sorted(os.listdir("/session/data")))`);
    expect(looked.stdout).toBe("['big.parquet', 'small.parquet']\n");
    expect(upstream.count("big")).toBe(2);
    // The caller's bytes were nowhere else.
    expect(await datasets.find("own")).toMatchObject({
      status: "FAILED",
      error: { detail: expect.stringMatching(/stage it again/) },
    });
  });
});

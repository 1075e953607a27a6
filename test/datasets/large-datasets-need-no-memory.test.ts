import { createHash } from "node:crypto";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { expectConstantMemory, MB, megabytes } from "../fixtures/constant-memory.ts";
import { useDatasetUpstream } from "../fixtures/dataset-source.ts";
import { DatasetClient } from "../fixtures/datasets.ts";
import { useStack } from "../fixtures/use-stack.ts";

const SIZE_MB = 200;
const CACHE_MB = 64;
const SLACK_MB = 64;

describe(`${SIZE_MB} MB datasets are staged in constant memory`, () => {
  const upstream = useDatasetUpstream();
  const { stack, client } = useStack({ agentEnv: { SANDBAR_DATASET_CACHE_MB: String(CACHE_MB) } });
  let session: string;
  let datasets: DatasetClient;
  let hash: string;

  beforeAll(async () => {
    upstream.set("small", Buffer.alloc(16 * MB));
    upstream.set(
      "big",
      (response) => void Readable.from(megabytes(SIZE_MB), { highWaterMark: 2 }).pipe(response),
    );
    const url_template = `${upstream.origin}/datasets/{id}`;
    await client.ok("POST", "/v1/dataset-sources", { name: "lake", url_template, allow_private: true });
    const limits = { memory_mb: 512, tmpfs_mb: 64 };
    session = (await client.create({ storage: "BIND", datasets: { access: "API" }, limits })).id;
    datasets = new DatasetClient(client, session);
    const digest = createHash("sha256");
    for (const chunk of megabytes(SIZE_MB)) digest.update(chunk);
    hash = digest.digest("hex");
    // Code is loaded and buffers are grown once, whatever the size.
    await datasets.stage({ id: "small", source: "lake" });
    await datasets.put("small", Buffer.alloc(16 * MB, 1));
  });

  const inConstantMemory = (what: string, work: () => Promise<void>) =>
    expectConstantMemory(stack, session, { what, mb: SIZE_MB, slackMb: SLACK_MB }, work);

  it("from a source", { timeout: 300_000 }, () =>
    inConstantMemory("source", async () => {
      const { body } = await datasets.stage({ id: "big", source: "lake", sha256: hash });
      expect(body).toMatchObject({ status: "LOADED", size: SIZE_MB * MB, sha256: hash });
    }),
  );

  it("from the caller", { timeout: 300_000 }, () =>
    inConstantMemory("caller", async () => {
      const headers = { "content-length": String(SIZE_MB * MB) };
      const { body } = await datasets.put(
        "own",
        Readable.from(megabytes(SIZE_MB), { highWaterMark: 2 }),
        {},
        headers,
      );
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

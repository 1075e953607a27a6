import { readdirSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Execution } from "@sandbar/shared";
import { beforeAll, expect, it } from "vitest";
import { useDatasetUpstream } from "../fixtures/dataset-source.ts";
import { DatasetClient } from "../fixtures/datasets.ts";
import { FileClient } from "../fixtures/files.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const upstream = useDatasetUpstream();
// Nothing is kept, so whatever vanishes has to be fetched again.
const { stack, client } = useStack({ agentEnv: { SANDBAR_DATASET_CACHE_MB: "0" } });
let session: string;
let datasets: DatasetClient;
let files: FileClient;

beforeAll(async () => {
  const url_template = `${upstream.origin}/datasets/{id}`;
  await client.ok("POST", "/v1/dataset-sources", { name: "lake", url_template, allow_private: true });
  session = (await client.create({ datasets: { access: "API" }, limits: { tmpfs_mb: 16 } })).id;
  datasets = new DatasetClient(client, session);
  files = new FileClient(client, session);
});

const left = () =>
  readdirSync(join(stack.home, "datasets"), { recursive: true }).filter((name) => name !== "default");
const stalled = (response: import("node:http").ServerResponse) =>
  void response.writeHead(200).write("half of it");

it("a daemon that is killed while it stages leaves the old bytes, and says what it did not finish", async () => {
  upstream.set("old", "old bytes");
  await datasets.stage({ id: "old", source: "lake", version: "1" });
  upstream.set("old", stalled);
  upstream.set("new", stalled);
  for (const id of ["old", "new"])
    expect(
      (await datasets.stage({ id, source: "lake", version: "2" }, { prefer: "respond-async" })).status,
    ).toBe(202);
  await eventually("both are on their way", 5000, () => left().length === 2);
  await stack.killAgent();
  await stack.startAgent();
  await eventually("the new daemon answers", 20_000, async () => (await datasets.list()).data.length === 2);
  expect(left()).toEqual([]);
  expect(await datasets.find("old")).toMatchObject({
    status: "LOADED",
    version: "1",
    sha256: sha256("old bytes"),
  });
  expect(await datasets.find("new")).toMatchObject({
    status: "FAILED",
    error: { detail: expect.stringMatching(/restarted/) },
  });
  expect((await files.get("data/old.parquet")).bytes.toString()).toBe("old bytes");
  upstream.set("new", "new bytes");
  expect((await datasets.stage({ id: "new", source: "lake", version: "2" })).body).toMatchObject({
    status: "LOADED",
  });
});

it("one that is taken out while it is fetched is fetched no longer", async () => {
  upstream.set("endless", stalled);
  const waiting = datasets.stage({ id: "endless", source: "lake" });
  await eventually("it is on its way", 5000, async () => (await datasets.find("endless")) !== undefined);
  expect((await client.call("DELETE", `${datasets.path}/endless`)).status).toBe(204);
  expect((await waiting).body).toMatchObject({
    status: "FAILED",
    error: { code: "DATASET_FAILED", detail: expect.stringContaining("taken out") },
  });
  expect(await datasets.find("endless")).toBeUndefined();
  expect(left()).toEqual([]);
});

it("a full session refuses the dataset and goes on", async () => {
  upstream.set("huge", Buffer.alloc(20 * 1024 * 1024, 1));
  expect((await datasets.stage({ id: "huge", source: "lake" })).body).toMatchObject({
    status: "FAILED",
    error: { code: "STORAGE_FULL" },
  });
  expect((await client.run(session, `import os; print(sorted(os.listdir("/session/data")))`)).stdout).toBe(
    "['new.parquet', 'old.parquet']\n",
  );
});

it("a caller that hangs up leaves what was there", async () => {
  async function* broken() {
    yield Buffer.alloc(100_000);
    await new Promise((resolve) => setTimeout(resolve, 200));
    throw new Error("the caller is gone");
  }
  await expect(
    datasets.put("old", Readable.from(broken()), {}, { "content-length": "500000" }),
  ).rejects.toThrow();
  await eventually(
    "the attempt is over",
    10_000,
    async () => (await datasets.find("old"))?.status === "LOADED",
  );
  expect((await files.get("data/old.parquet")).bytes.toString()).toBe("old bytes");
  expect(left()).toEqual([]);
});

it("code that waits for a dataset can be interrupted, and is not kept waiting by others", async () => {
  const remove = `import os; os.unlink("/session/data/new.parquet")`;
  upstream.set("new", stalled);
  await client.run(session, remove);
  const waiting = await client.start(session, "print('never')");
  await eventually("it waits", 5000, () => upstream.count("new") === 3);
  await client.ok("POST", `/v1/sessions/${session}/executions/${waiting.id}/interrupt`);
  expect(await client.finished(session, waiting.id)).toMatchObject({ status: "interrupted", stdout: "" });
  // The file is still on its way, so the next one waits as well.
  const next = await client.start(session, "print('never')");
  const other = (await client.create({ runtime: "bash" })).id;
  expect((await client.run(other, "echo fine")).stdout).toBe("fine\n");
  expect((await client.execution(session, next.id)).started_at).toBeNull();
});

it("a session that waits for a dataset can be stopped", async () => {
  const [waiting] = (await client.ok<{ data: Execution[] }>("GET", `/v1/sessions/${session}/executions`))
    .data;
  expect(waiting!.started_at).toBeNull();
  expect((await client.stop(session)).status).toBe(204);
  const ended = await client.finished(session, waiting!.id);
  expect(ended).toMatchObject({ status: expect.stringMatching(/^(interrupted|died)$/), stdout: "" });
  expect((await client.ok<{ status: string }>("GET", `/v1/sessions/${session}`)).status).toBe("stopped");
  await eventually("nobody fetches for it any more", 10_000, () => left().length === 0);
});

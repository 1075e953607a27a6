import { chmodSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Artifact } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useDatasetUpstream } from "../fixtures/dataset-source.ts";
import { DatasetClient } from "../fixtures/datasets.ts";
import { FileClient } from "../fixtures/files.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { useStack } from "../fixtures/use-stack.ts";

const upstream = useDatasetUpstream();
let local: string;
let session: string;
let datasets: DatasetClient;
let files: FileClient;

beforeAll(async () => {
  local = mkdtempSync(join(tmpdir(), "sandbar-datasets-"));
  mkdirSync(join(local, "deep/er"), { recursive: true });
  writeFileSync(join(local, "numbers.csv"), "a,b\n1,2\n");
  writeFileSync(join(local, "deep/er/more.parquet"), "more");
  for (const folder of ["", "deep", "deep/er"]) chmodSync(join(local, folder), 0o755);
});
afterAll(() => rmSync(local, { recursive: true }));
const { stack, client } = useStack(() => ({
  agentEnv: { DATASETS_HOST_RO: local },
  vars: { DATASET_MAX_BYTES: "3000000" },
}));
beforeAll(async () => {
  const url_template = `${upstream.origin}/datasets/{id}`;
  await client.ok("POST", "/v1/dataset-sources", { name: "lake", url_template, allow_private: true });
  session = (await client.create({ datasets: { access: "API" }, storage: "BIND" })).id;
  datasets = new DatasetClient(client, session);
  files = new FileClient(client, session);
});

const content = async (path: string) => (await files.get(path)).bytes.toString();

describe("a list says what code can read", () => {
  it("nothing, with access NONE", async () => {
    const { id } = await client.create({ runtime: "bash" });
    const none = new DatasetClient(client, id);
    expect(await none.list()).toEqual({
      access: "NONE",
      data: [],
      message: expect.stringMatching(/no datasets are available/i),
    });
    for (const refused of [
      await none.stage({ id: "x", source: "lake" }),
      await none.put("x", "bytes"),
      await none.export("x"),
    ])
      expect([refused.status, refused.body.code]).toEqual([409, "DATASETS_DISABLED"]);
    await client.stop(id);
  });

  it("the host's files, with access LOCAL_RO", async () => {
    const { id } = await client.create({ runtime: "bash", datasets: { access: "LOCAL_RO" } });
    const listed = await new DatasetClient(client, id).list();
    const mtime = (name: string) => new Date(Math.floor(statSync(join(local, name)).mtimeMs)).toISOString();
    const file = { status: "LOADED", sha256: null, version: null };
    expect(listed).toEqual({
      access: "LOCAL_RO",
      data: [
        {
          ...file,
          id: "deep/er/more.parquet",
          path: "/data/deep/er/more.parquet",
          size: 4,
          mtime: mtime("deep/er/more.parquet"),
        },
        { ...file, id: "numbers.csv", path: "/data/numbers.csv", size: 8, mtime: mtime("numbers.csv") },
      ],
    });
    expect((await new DatasetClient(client, id).put("x", "bytes")).body.code).toBe("DATASETS_DISABLED");
    const write = await client.run(id, "echo x > /data/numbers.csv");
    expect(write).toMatchObject({ status: "error", stderr: expect.stringMatching(/read-only/i) });
    await client.stop(id);
  });

  it("what was staged, with access API, and what code did to it", async () => {
    expect(await datasets.list()).toEqual({ access: "API", data: [] });
    const { body } = await datasets.put("listed", "bytes", { version: "3" });
    expect(await datasets.list()).toEqual({ access: "API", data: [body] });
    await client.run(session, `open("/session/data/listed.parquet", "a").write(" and more")`);
    expect(await datasets.find("listed")).toMatchObject({
      size: 14,
      modified: true,
      sha256: sha256("bytes"),
    });
  });
});

describe("the caller's own bytes", () => {
  it("are staged, checked and replaced", async () => {
    const put = await datasets.put("own", "first", { sha256: sha256("first"), version: "1" });
    expect(put).toMatchObject({
      status: 201,
      body: { status: "LOADED", path: "/session/data/own.parquet", version: "1", size: 5 },
    });
    expect(await datasets.put("own", "first", { sha256: sha256("first") })).toMatchObject({
      status: 200,
      body: put.body,
    });
    const headers = { "x-dataset-sha256": sha256("second!"), "x-dataset-version": "2" };
    expect((await datasets.put("own", "second!", {}, headers)).body).toMatchObject({ version: "2", size: 7 });
    expect((await datasets.put("own", "third")).body).toMatchObject({
      version: null,
      sha256: sha256("third"),
    });
    expect((await datasets.put("own", "fourth")).body).toMatchObject({ sha256: sha256("fourth") });
    const wrong = await datasets.put("own", "torn", { sha256: sha256("whole") });
    expect(wrong).toMatchObject({
      status: 200,
      body: { status: "FAILED", error: { code: "DATASET_FAILED" } },
    });
    expect(await content("data/own.parquet")).toBe("fourth");
    expect((await datasets.put("own", "", {})).body).toMatchObject({ status: "LOADED", size: 0 });
    expect((await datasets.put("own", "x", { sha256: "short" })).status).toBe(400);
  });

  it("may not be more than the operator allows", async () => {
    const large = Buffer.alloc(3_000_001);
    expect((await datasets.put("large", large)).body.code).toBe("PAYLOAD_TOO_LARGE");
    const unannounced = await datasets.put("large", Readable.from([large]));
    expect([unannounced.status, unannounced.body.code]).toEqual([413, "PAYLOAD_TOO_LARGE"]);
  });

  it("each arrive whole when many come at once", async () => {
    const bodies = Array.from({ length: 8 }, (_, i) => Buffer.alloc(300_000, `body ${i} `));
    const answers = await Promise.all(bodies.map((body) => datasets.put("race", body)));
    for (const [i, { body }] of answers.entries())
      expect(body).toMatchObject({ status: "LOADED", sha256: sha256(bodies[i]!) });
    const { bytes } = await files.get("data/race.parquet");
    expect((await datasets.find("race"))?.sha256).toBe(sha256(bytes));
  });
});

it.each([
  "/etc/passwd",
  "../escape",
  "..",
  ".",
  "a/../b",
  "a..b",
  "a/b",
  "nul\0byte",
  "new\nline",
  "\u001b[31m",
  "sp ace",
  ".hidden",
  "-rf",
  "ünïcode",
  "",
  "x".repeat(201),
])("the id %j is refused", async (id) => {
  expect(await datasets.stage({ id, source: "lake" })).toMatchObject({ status: 400 });
  if (id === "" || id === "." || id === "..") return;
  expect(await datasets.put(id, "bytes")).toMatchObject({ status: 400 });
  expect(await datasets.export(id)).toMatchObject({ status: 400 });
});

describe("a staged file is there when code runs", () => {
  it("although it was deleted, without another fetch", async () => {
    upstream.set("durable", "durable bytes");
    await datasets.stage({ id: "durable", source: "lake" });
    await client.run(session, `import os; os.unlink("/session/data/durable.parquet")`);
    const read = await client.run(session, `print(open("/session/data/durable.parquet").read())`);
    expect(read).toMatchObject({ status: "ok", stdout: "durable bytes\n" });
    await client.run(session, `import shutil; shutil.rmtree("/session/data")`);
    const all = await client.run(session, `print(sorted(os.listdir("/session/data")))`);
    expect(all.stdout).toBe("['durable.parquet', 'listed.parquet', 'own.parquet', 'race.parquet']\n");
    expect(upstream.count("durable")).toBe(1);
    expect(await datasets.find("listed")).not.toHaveProperty("modified");
  });

  it("after a restart of the kernel, and of the daemon", async () => {
    const [context] = (await client.ok<{ data: { id: string }[] }>("GET", `/v1/sessions/${session}/contexts`))
      .data;
    await client.run(session, `import os; os.unlink("/session/data/durable.parquet")`);
    await client.ok("POST", `/v1/sessions/${session}/contexts/${context!.id}/restart`);
    const code = `print(open("/session/data/durable.parquet").read())`;
    expect((await client.run(session, code)).stdout).toBe("durable bytes\n");
    await client.run(session, `import os; os.unlink("/session/data/durable.parquet")`);
    await stack.killAgent();
    await stack.startAgent();
    expect((await client.run(session, code)).stdout).toBe("durable bytes\n");
    expect(await datasets.find("durable")).toMatchObject({
      status: "LOADED",
      sha256: sha256("durable bytes"),
    });
    expect(upstream.count("durable")).toBe(1);
  });

  it("is staged anew when it is asked for and gone", async () => {
    await files.raw("DELETE", { path: "data/durable.parquet" });
    expect((await datasets.stage({ id: "durable", source: "lake" })).body).toMatchObject({
      status: "LOADED",
    });
    expect(await content("data/durable.parquet")).toBe("durable bytes");
  });

  it("not when it was taken out", async () => {
    const path = `${datasets.path}/durable`;
    expect((await client.call("DELETE", path)).status).toBe(204);
    expect((await client.call("DELETE", path)).status).toBe(404);
    const seen = await client.run(
      session,
      `import os; print(os.path.exists("/session/data/durable.parquet"))`,
    );
    expect(seen.stdout).toBe("False\n");
    expect(await datasets.find("durable")).toBeUndefined();
  });
});

describe("Parquet", () => {
  it("goes from pandas in one session to pyarrow in another, is changed, exported and loaded again", async () => {
    await client.run(
      session,
      `import pandas as pd
frame = pd.DataFrame({"city": ["Köln", "Łódź", None], "n": [1, 2, 3], "t": pd.to_datetime(["2026-01-01"] * 3)})
frame.to_parquet("/session/artifacts/cities.parquet")`,
    );
    const { data } = await client.ok<{ data: Artifact[] }>("GET", `/v1/sessions/${session}/artifacts`);
    const artifact = data.find(({ name }) => name === "cities.parquet")!;

    const second = (await client.create({ datasets: { access: "API" } })).id;
    const staged = new DatasetClient(client, second);
    expect(await staged.stage({ id: "cities", artifact_id: artifact.id })).toMatchObject({
      status: 201,
      body: {
        status: "LOADED",
        path: "/session/data/cities.parquet",
        sha256: artifact.sha256,
        size: artifact.size,
      },
    });
    expect((await staged.stage({ id: "cities", artifact_id: artifact.id })).status).toBe(200);
    const changed = await client.run(
      second,
      `import pyarrow.parquet as pq, pyarrow as pa
table = pq.read_table("/session/data/cities.parquet")
print(table.num_rows, table.column_names, table["city"].to_pylist())
pq.write_table(table.append_column("m", pa.array([10, 20, 30])), "/session/data/cities.parquet")`,
    );
    expect(changed.stdout).toBe("3 ['city', 'n', 't'] ['Köln', 'Łódź', None]\n");

    const exported = await staged.export("cities");
    expect(exported.status).toBe(201);
    expect(exported.body.name).toMatch(/^cities_\d{8}T\d{6}Z\.parquet$/);
    expect(exported.body.sha256).not.toBe(artifact.sha256);
    const bytes = Buffer.from(await (await fetch(exported.body.url)).arrayBuffer());
    expect(sha256(bytes)).toBe(exported.body.sha256);

    const again = await datasets.stage({ id: "changed", artifact_id: exported.body.id });
    expect(again.body).toMatchObject({ status: "LOADED", sha256: exported.body.sha256 });
    const read = await client.run(
      session,
      `print(pd.read_parquet("/session/data/changed.parquet").m.sum(), pd.read_parquet("/session/data/changed.parquet").city[0])`,
    );
    expect(read.stdout).toBe("60 Köln\n");
    await client.stop(second);
  });

  it("that code wrote beside the staged ones is exported too; what does not exist is not", async () => {
    await client.run(
      session,
      `frame.to_parquet("/session/data/fresh.parquet"); open("/session/data/t.csv", "w").write("a")`,
    );
    expect((await datasets.export("fresh")).body.name).toMatch(/^fresh_\d{8}T\d{6}Z\.parquet$/);
    expect((await datasets.export("t.csv")).body.name).toMatch(/^t_\d{8}T\d{6}Z\.csv$/);
    const none = await datasets.export("nothing");
    expect([none.status, none.body.code]).toEqual([404, "NOT_FOUND"]);
    expect((await datasets.stage({ id: "x", artifact_id: "art_none" })).status).toBe(404);
    expect((await datasets.stage({ id: "x", artifact_id: "art_none", source: "lake" })).status).toBe(400);
  });

  it("is an artifact's own: with another hash it is refused, whether the host has those bytes or not", async () => {
    await client.run(session, `open("/session/data/mine.csv", "w").write("mine")`);
    const { body: mine } = await datasets.export("mine.csv");
    const other = sha256("somebody else's");
    const ask = () => datasets.stage({ id: "theirs", artifact_id: mine.id, sha256: other });
    for (const before of [async () => {}, () => datasets.put("cached", "somebody else's")]) {
      await before();
      const { status, body } = await ask();
      expect([status, body.code]).toEqual([400, "VALIDATION_FAILED"]);
      expect(body.detail).toContain(mine.sha256);
    }
    expect(await datasets.find("theirs")).toBeUndefined();
    const own = { id: "own", artifact_id: mine.id, sha256: mine.sha256 };
    expect((await datasets.stage(own)).body).toMatchObject({ status: "LOADED", sha256: mine.sha256 });
  });
});

it("a dataset that cannot be taken out stays listed, and goes when it can", async () => {
  await datasets.put("taken", "bytes");
  await client.run(
    session,
    "import os; os.remove('/session/data/taken.parquet'); os.makedirs('/session/data/taken.parquet/in')",
  );
  const remove = () => client.call("DELETE", `${datasets.path}/taken`);
  expect((await remove()).status).toBe(409);
  expect(await datasets.find("taken")).toMatchObject({ id: "taken" });
  await client.run(session, "os.removedirs('/session/data/taken.parquet/in')");
  expect((await remove()).status).toBe(204);
  expect(await datasets.find("taken")).toBeUndefined();
  expect((await remove()).status).toBe(404);
});

it("keeps tenants apart on every route of datasets", async () => {
  const bob = await stack.clientOf("bob");
  const missing = session.replace(/.{6}$/, "zzzzzz");
  for (const [method, path, body] of [
    ["GET", ""],
    ["POST", "", { id: "own", source: "lake" }],
    ["DELETE", "/own"],
    ["POST", "/own/export"],
  ] as const) {
    const seen = async (id: string) => {
      const answer = await bob.problem(method, `/v1/sessions/${id}/datasets${path}`, body);
      return [answer.status, answer.body.code, answer.body.detail];
    };
    expect(await seen(session)).toEqual(await seen(missing));
    expect((await seen(session))[0]).toBe(404);
  }
  expect((await new DatasetClient(bob, session).put("own", "theirs")).status).toBe(404);
});

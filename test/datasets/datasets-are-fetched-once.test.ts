import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { useDatasetUpstream } from "../fixtures/dataset-source.ts";
import { DatasetClient } from "../fixtures/datasets.ts";
import { FileClient } from "../fixtures/files.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const SECRET = "Bearer upstream-secret-7c1f";

const upstream = useDatasetUpstream();
const elsewhere = useDatasetUpstream();
const { stack, client } = useStack({ vars: { SECRETS_KEY: "test key" } });
let session: string;
let datasets: DatasetClient;
let files: FileClient;

beforeAll(async () => {
  const register = (name: string, more: Record<string, unknown>) =>
    client.ok("POST", "/v1/dataset-sources", { name, ...more });
  const url_template = `${upstream.origin}/datasets/{id}`;
  await register("lake", { url_template, headers: { Authorization: SECRET }, allow_private: true });
  await register("small", { url_template, allow_private: true, max_bytes: 1000, timeout_s: 1 });
  await register("open", {
    url_template,
    allow_private: true,
    redirect_origins: [elsewhere.origin],
    headers: { "X-Token": SECRET },
  });
  await register("guarded", { url_template });
  await register("named", {
    url_template: `http://localhost:${new URL(upstream.origin).port}/datasets/{id}`,
  });
  await register("others", { url_template, allow_private: true, tenant: "bob" });
  session = (await client.create({ datasets: { access: "API" } })).id;
  datasets = new DatasetClient(client, session);
  files = new FileClient(client, session);
});

const content = async (path: string) => (await files.get(path)).bytes.toString();

describe("a dataset from a registered source", () => {
  it("is in the session with its size, hash and time", async () => {
    upstream.set("plain", "plain bytes");
    const { status, body } = await datasets.stage({ id: "plain", source: "lake", version: "1" });
    expect([status, body]).toEqual([
      201,
      {
        id: "plain",
        status: "LOADED",
        path: "/session/data/plain.parquet",
        size: 11,
        sha256: sha256("plain bytes"),
        version: "1",
        mtime: expect.stringMatching(/^\d{4}-.*Z$/),
      },
    ]);
    expect(await content("data/plain.parquet")).toBe("plain bytes");
    expect(await datasets.find("plain")).toEqual(body);
  });

  it("keeps an extension that the id or the format gives", async () => {
    for (const [given, path] of [
      [{ id: "table.csv" }, "/session/data/table.csv"],
      [{ id: "table", format: "json" }, "/session/data/table.json"],
      [{ id: "table.csv.gz" }, "/session/data/table.csv.gz"],
      [{ id: "v1.2" }, "/session/data/v1.2.parquet"],
    ] as const) {
      upstream.set(given.id, given.id);
      expect((await datasets.stage({ ...given, source: "lake" })).body).toMatchObject({
        status: "LOADED",
        path,
      });
    }
  });

  it("is fetched once by 20 requests at once", async () => {
    upstream.set("busy", (response) => setTimeout(() => response.end("busy bytes"), 300));
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => datasets.stage({ id: "busy", source: "lake", version: "7" })),
    );
    expect(upstream.count("busy")).toBe(1);
    for (const { body } of answers) expect(body).toEqual(answers[0]!.body);
    expect(answers[0]!.body).toMatchObject({ status: "LOADED", sha256: sha256("busy bytes") });
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
  });

  it("is not fetched again in the same version, or with the same hash", async () => {
    upstream.set("again", "again");
    const first = await datasets.stage({ id: "again", source: "lake", version: "1" });
    for (const same of [
      { version: "1" },
      { sha256: sha256("again") },
      { sha256: sha256("again").toUpperCase() },
    ])
      expect(await datasets.stage({ id: "again", source: "lake", ...same })).toMatchObject({
        status: 200,
        body: first.body,
      });
    expect(upstream.count("again")).toBe(1);
    await datasets.stage({ id: "again", source: "lake", version: "1", refresh: true });
    expect(upstream.count("again")).toBe(2);
  });

  it("is replaced by a new version or hash, and only by whole bytes", async () => {
    upstream.set("moving", "version one");
    await datasets.stage({ id: "moving", source: "lake", version: "1" });
    upstream.set("moving", "version two is longer");
    expect((await datasets.stage({ id: "moving", source: "lake", version: "2" })).body).toMatchObject({
      status: "LOADED",
      version: "2",
      sha256: sha256("version two is longer"),
    });
    expect(await content("data/moving.parquet")).toBe("version two is longer");
    upstream.set("moving", "three");
    const third = { id: "moving", source: "lake", sha256: sha256("three") };
    expect((await datasets.stage(third)).body).toMatchObject({ status: "LOADED", sha256: sha256("three") });
    expect(await content("data/moving.parquet")).toBe("three");

    upstream.set("moving", (response) => {
      response.writeHead(200, { "content-length": "1000" }).write("half");
      setTimeout(() => response.destroy(), 50);
    });
    const cut = await datasets.stage({ id: "moving", source: "lake", version: "4" });
    expect(cut).toMatchObject({
      status: 200,
      body: { status: "FAILED", version: "4", error: { code: "DATASET_FAILED" } },
    });
    expect(await content("data/moving.parquet")).toBe("three");
    expect(await datasets.find("moving")).toMatchObject({
      status: "LOADED",
      sha256: sha256("three"),
      error: { code: "DATASET_FAILED" },
    });
  });

  it("fails with the reason, and may be tried again", async () => {
    upstream.set("wrong", "not these bytes");
    upstream.set("slow", (response) => void response.writeHead(200).write("a byte"));
    upstream.set("silent", () => {});
    upstream.set("large", Buffer.alloc(1001));
    upstream.set("longer", (response) => {
      for (let i = 0; i < 20; i++) response.write(Buffer.alloc(100));
      response.end();
    });
    upstream.set("error", (response) => response.writeHead(500).end());
    upstream.set("packed", (response) => response.writeHead(200, { "content-encoding": "gzip" }).end("x"));
    const tried: [Record<string, unknown>, string, RegExp][] = [
      [{ id: "wrong", source: "lake", sha256: sha256("these bytes") }, "DATASET_FAILED", /SHA-256/],
      [{ id: "missing", source: "lake" }, "DATASET_FAILED", /answered 404/],
      [{ id: "error", source: "lake" }, "DATASET_FAILED", /answered 500/],
      [{ id: "slow", source: "small" }, "DATASET_FAILED", /longer than 1 s/],
      [{ id: "silent", source: "small" }, "DATASET_FAILED", /longer than 1 s/],
      [{ id: "large", source: "small" }, "PAYLOAD_TOO_LARGE", /more than 1000 bytes/],
      [{ id: "longer", source: "small" }, "PAYLOAD_TOO_LARGE", /more than 1000 bytes/],
      [{ id: "packed", source: "lake" }, "DATASET_FAILED", /gzip/],
    ];
    for (const [body, code, detail] of tried) {
      const answer = await datasets.stage(body);
      expect(answer).toMatchObject({ status: 200, body: { id: body.id, status: "FAILED", error: { code } } });
      expect(answer.body.error!.detail).toMatch(detail);
      expect((await files.get(`data/${body.id}.parquet`)).status).toBe(404);
      expect(await datasets.find(body.id as string)).toMatchObject({ status: "FAILED", error: { code } });
    }
    upstream.set("missing", "found now");
    expect((await datasets.stage({ id: "missing", source: "lake" })).body).toMatchObject({
      status: "LOADED",
      size: 9,
    });
    expect((await datasets.find("missing"))?.error).toBeUndefined();
  });

  it("answers PENDING at once when asked to, and is loaded later", async () => {
    upstream.set("later", (response) => setTimeout(() => response.end("later"), 500));
    const answer = await datasets.stage({ id: "later", source: "lake" }, { prefer: "respond-async" });
    expect(answer).toMatchObject({
      status: 202,
      body: { status: "PENDING", path: "/session/data/later.parquet" },
    });
    expect(await datasets.find("later")).toMatchObject({ status: "PENDING" });
    await eventually("loaded", 10_000, async () => (await datasets.find("later"))?.status === "LOADED");
  });
});

describe("a source is the operator's", () => {
  it("gets its secret headers, which nobody else sees", async () => {
    upstream.set("secret", "secret");
    await datasets.stage({ id: "secret", source: "lake" });
    expect(upstream.requests.at(-1)!.headers.authorization).toBe(SECRET);
    const seen = await client.run(
      session,
      `import os, subprocess
print(dict(os.environ))
print(subprocess.run("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; grep -r upstream-secre[t] /session /tmp", shell=True, capture_output=True).stdout)`,
    );
    const inspected = await (await stack.containerOf(session)).inspect();
    const answers = [
      await client.ok("GET", "/v1/dataset-sources"),
      await datasets.list(),
      await client.ok("GET", `/v1/sessions/${session}`),
    ];
    expect(JSON.stringify([seen, inspected, answers])).not.toContain("upstream-secret");
    expect(JSON.stringify(answers[0])).toContain('"header_names":["Authorization"]');
    // Nor is it on the disk: not in the daemon's journal, and in D1 only encrypted.
    const found = spawnSync("grep", ["-rlaD", "skip", "upstream-secret", stack.home], { encoding: "utf8" });
    expect(found.stdout).toBe("");
  });

  it("may redirect within its origin, three times, and elsewhere only as registered", async () => {
    const redirect = (to: string) => (response: import("node:http").ServerResponse) =>
      void response.writeHead(302, { location: to }).end();
    upstream.set("end", "the end");
    upstream.set("r1", redirect("/datasets/end"));
    upstream.set("r2", redirect("r1"));
    upstream.set("r3", redirect(`${upstream.origin}/datasets/r2`));
    upstream.set("r4", redirect("/datasets/r3"));
    elsewhere.set("far", "far away");
    upstream.set("far", redirect(`${elsewhere.origin}/datasets/far`));
    upstream.set("file", redirect("file:///etc/passwd"));
    expect((await datasets.stage({ id: "r3", source: "lake" })).body).toMatchObject({
      status: "LOADED",
      size: 7,
    });
    expect((await datasets.stage({ id: "r4", source: "lake" })).body.error?.detail).toMatch(
      /more than 3 times/,
    );
    for (const id of ["far", "file"])
      expect((await datasets.stage({ id, source: "lake" })).body).toMatchObject({
        status: "FAILED",
        error: { code: "SOURCE_NOT_ALLOWED" },
      });
    expect(elsewhere.requests).toHaveLength(0);
    expect((await datasets.stage({ id: "far", source: "open" })).body).toMatchObject({
      status: "LOADED",
      size: 8,
    });
    expect(upstream.requests.at(-1)!.headers["x-token"]).toBe(SECRET);
    expect(elsewhere.requests.at(-1)!.headers["x-token"]).toBeUndefined();
  });

  it("is not at an internal address unless that was said, whatever its name", async () => {
    upstream.set("inner", "inner");
    for (const source of ["guarded", "named"])
      expect((await datasets.stage({ id: "inner", source })).body).toMatchObject({
        status: "FAILED",
        error: { code: "SOURCE_NOT_ALLOWED", detail: expect.stringMatching(/loopback/) },
      });
    expect(upstream.count("inner")).toBe(0);
  });

  it("is registered, listed and removed by operators only", async () => {
    const agent = await stack.clientOf("default");
    const source = { name: "mine", url_template: "https://data.example.com/{id}?v={version}" };
    for (const [method, path, body] of [
      ["GET", "/v1/dataset-sources"],
      ["POST", "/v1/dataset-sources", source],
      ["DELETE", "/v1/dataset-sources/lake"],
    ] as const)
      expect((await agent.problem(method, path, body)).body.code).toBe("FORBIDDEN");
    const made = await client.ok<{ id: string }>("POST", "/v1/dataset-sources", source);
    expect(made).toMatchObject({ ...source, timeout_s: 300, header_names: [], allow_private: false });
    expect((await client.problem("POST", "/v1/dataset-sources", source)).body.code).toBe("SOURCE_EXISTS");
    expect((await datasets.stage({ id: "x", source: "mine" })).body.code).toBe("VALIDATION_FAILED");
    expect((await client.call("DELETE", `/v1/dataset-sources/${made.id}`)).status).toBe(204);
    expect((await client.call("DELETE", `/v1/dataset-sources/${made.id}`)).status).toBe(404);
    for (const url_template of [
      "https://example.com/none",
      "ftp://example.com/{id}",
      "file:///{id}",
      "https://{id}.example.com/x",
      "https://u:p@example.com/{id}",
      "https://example.com/#{id}",
      "nonsense {id}",
    ])
      expect((await client.problem("POST", "/v1/dataset-sources", { name: "n", url_template })).status).toBe(
        400,
      );
    const headers = { "Content-Length": "1" };
    const bad = { name: "n", url_template: "https://example.com/{id}", headers };
    expect((await client.problem("POST", "/v1/dataset-sources", bad)).status).toBe(400);
  });

  it("of another tenant does not exist", async () => {
    const theirs = await datasets.stage({ id: "x", source: "others" });
    const none = await datasets.stage({ id: "x", source: "nowhere" });
    expect(theirs.status).toBe(403);
    expect(theirs.body.detail.replace("others", "?")).toBe(none.body.detail.replace("nowhere", "?"));
    expect((await datasets.stage({ id: "x" })).body).toMatchObject({
      status: 400,
      code: "VALIDATION_FAILED",
    });
  });
});

describe("the host's cache", () => {
  it("gives nobody what has become damaged in it: it is fetched again, or asked for", async () => {
    const damage = (bytes: string) =>
      writeFileSync(join(stack.home, "datasets/default", sha256(bytes)), "rotten");
    upstream.set("kept", "kept bytes");
    await datasets.stage({ id: "kept", source: "lake" });
    await datasets.put("given", "given bytes");
    damage("kept bytes");
    damage("given bytes");
    await client.run(session, "import os; os.remove('/session/data/kept.parquet')");
    expect((await client.run(session, "print(open('/session/data/kept.parquet').read())")).stdout).toBe(
      "kept bytes\n",
    );
    const put = () => datasets.put("given", "given bytes", { sha256: sha256("given bytes"), version: "2" });
    expect((await put()).body).toMatchObject({
      status: "FAILED",
      error: { code: "DATASET_FAILED", detail: expect.stringContaining("stage it again") },
    });
    expect(await content("data/given.parquet")).toBe("given bytes");
    expect((await put()).body).toMatchObject({ status: "LOADED", version: "2" });
    expect(await datasets.find("given")).not.toHaveProperty("modified");
  });

  it("gives a second session of the tenant what has the hash, without a fetch", async () => {
    upstream.set("shared", "shared bytes");
    await datasets.stage({ id: "shared", source: "lake" });
    const other = (await client.create({ datasets: { access: "API" } })).id;
    const second = new DatasetClient(client, other);
    const hash = sha256("shared bytes");
    expect((await second.stage({ id: "renamed", source: "lake", sha256: hash })).body).toMatchObject({
      status: "LOADED",
      size: 12,
      sha256: hash,
    });
    expect(upstream.count("shared") + upstream.count("renamed")).toBe(1);
    // The copy is the session's own: changing it changes nothing for the next one.
    await client.run(other, `open("/session/data/renamed.parquet", "w").write("changed")`);
    const third = new DatasetClient(client, session);
    expect((await third.stage({ id: "third", source: "lake", sha256: hash })).body).toMatchObject({
      status: "LOADED",
    });
    expect(await content("data/third.parquet")).toBe("shared bytes");
    await client.stop(other);
  });

  it("gives other tenants nothing", async () => {
    const bob = await stack.clientOf("bob");
    const { id } = await bob.create({ datasets: { access: "API" } });
    upstream.set("private", "private bytes");
    await datasets.stage({ id: "private", source: "lake" });
    upstream.set("private", "other bytes");
    const asked = { id: "private", source: "lake", sha256: sha256("private bytes") };
    const theirs = await new DatasetClient(bob, id).stage(asked);
    expect(theirs.body).toMatchObject({
      status: "FAILED",
      error: { detail: expect.stringMatching(/SHA-256/) },
    });
    expect((await new DatasetClient(bob, session).stage(asked)).status).toBe(404);
    await bob.stop(id);
  });
});

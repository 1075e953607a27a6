import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { useDatasetUpstream } from "../fixtures/dataset-source.ts";
import { DatasetClient } from "../fixtures/datasets.ts";
import { FileClient } from "../fixtures/files.ts";
import { useStack } from "../fixtures/use-stack.ts";

const A = "/session/artifacts";

describe("files of a session in WebAssembly", () => {
  const datasets = mkdtempSync(join(tmpdir(), "sandbar-datasets-"));
  const upstream = useDatasetUpstream();
  const { stack, client } = useStack({
    agentEnv: { SANDBAR_ENGINE: "wasm", SANDBAR_POOL_SIZE: "0", DATASETS_HOST_RO: datasets },
  });
  let session: string;
  let files: FileClient;

  beforeAll(async () => {
    chmodSync(datasets, 0o755);
    writeFileSync(join(datasets, "table.csv"), "a,b\n1,2\n");
    session = (await client.create({ engine: "wasm" })).id;
    files = new FileClient(client, session);
  }, 120_000);
  afterAll(() => rmSync(datasets, { recursive: true, force: true }));

  const run = (code: string, more: Record<string, unknown> = {}) => client.run(session, code, more);

  it("are the same for code and for the API, whoever changed them last", async () => {
    await files.put("both.txt", "from outside");
    expect((await run("print(open('both.txt').read())")).stdout).toBe("from outside\n");
    await run("open('both.txt', 'w').write('from inside')");
    expect((await files.get("both.txt")).bytes.toString()).toBe("from inside");
    expect((await files.raw("DELETE", { path: "both.txt" })).status).toBe(204);
    expect((await run("import os; print(os.path.exists('both.txt'))")).stdout).toBe("False\n");
    expect(await run("open('both.txt', 'w').write('again')")).toMatchObject({ status: "ok" });
    await run("os.remove('both.txt'); os.mkdir('both.txt')");
    expect((await files.list({ path: "." })).data).toContainEqual(
      expect.objectContaining({ name: "both.txt", type: "directory" }),
    );
  });

  it("are replaced under If-Match only by who has seen them as they are", async () => {
    const { etag } = (await files.put("etag.txt", "one")) as { etag: string };
    const put = (body: string) => files.raw("PUT", { path: "etag.txt" }, body, { "if-match": `"${etag}"` });
    expect((await put("two")).status).toBeLessThan(300);
    expect(await put("three")).toMatchObject({ status: 412, problem: { code: "ETAG_MISMATCH" } });
  });

  it("end with their storage: code and uploads are told, what was there stays", async () => {
    const id = (await client.create({ limits: { memory_mb: 512, tmpfs_mb: 16 } })).id;
    const small = new FileClient(client, id);
    await small.put("keep", "kept");
    for (const body of [Buffer.alloc(20 << 20), Readable.from([Buffer.alloc(20 << 20)])])
      expect(await small.raw("PUT", { path: "keep" }, body)).toMatchObject({
        status: 507,
        problem: { code: "STORAGE_FULL" },
      });
    expect(await client.run(id, "open('big', 'wb').write(bytes(20 << 20))")).toMatchObject({
      error: { name: "OSError" },
    });
    expect((await small.get("keep")).bytes.toString()).toBe("kept");
    await client.stop(id);
  });

  it("left as artifacts are taken out, also twice under one name and from a folder that was replaced", async () => {
    for (const _ of [1, 2])
      expect(await run(`open("${A}/same.txt", "w").write("same")`)).toMatchObject({
        status: "ok",
        artifacts: [{ name: "same.txt", size: 4 }],
      });
    expect(await run(`import os; os.rmdir("${A}"); open("${A}", "w").write("mine")`)).toMatchObject({
      artifacts_skipped: [{ name: A, reason: expect.stringContaining("a file stood there") }],
    });
    const growing = await run(`f = open("${A}/growing", "w"); f.write("half"); f.flush()`);
    expect(growing.artifacts_skipped).toEqual([{ name: "growing", reason: "still being written" }]);
    const died = await run(`open("${A}/last", "w").write("2"); import os; os._exit(3)`);
    expect([died.status, died.artifacts.map(({ name }) => name).sort()]).toEqual([
      "died",
      ["growing", "last"],
    ]);
  });

  it("in a folder of the host outlive the session; datasets of the host can only be read", async () => {
    const { id } = await client.create({ storage: "BIND", datasets: { access: "LOCAL_RO" } });
    const { stdout, status } = await client.run(
      id,
      "open('left.txt', 'w').write('left')\nprint(open('/data/table.csv').read())",
    );
    expect([status, stdout]).toEqual(["ok", "a,b\n1,2\n\n"]);
    expect(await client.run(id, "open('/data/table.csv', 'w')")).toMatchObject({ status: "error" });
    await client.stop(id);
    expect(readFileSync(join(stack.home, "sessions", id, "left.txt"), "utf8")).toBe("left");
  });

  it("come from a source of datasets, once", async () => {
    const url_template = `${upstream.origin}/datasets/{id}`;
    await client.ok("POST", "/v1/dataset-sources", { name: "lake", url_template, allow_private: true });
    upstream.set("grains", "a,b\n3,4\n");
    const { id } = await client.create({ datasets: { access: "API" } });
    const { body } = await new DatasetClient(client, id).stage({
      id: "grains",
      source: "lake",
      version: "1",
    });
    expect(body).toMatchObject({ status: "LOADED", size: 8 });
    expect((await client.run(id, `print(open("${body.path}").read())`)).stdout).toBe("a,b\n3,4\n\n");
    await client.stop(id);
  });

  it("belong to a user of the session's own where the daemon is root, else to the daemon's", async () => {
    const [one, other] = await Promise.all([client.create({}), client.create({})]);
    const owners = await Promise.all(
      [one!, other!].map(async ({ id }) => {
        await client.run(id, "open('mine', 'w').close()");
        return Number((await client.run(id, "import os; print(os.stat('mine').st_uid)")).stdout);
      }),
    );
    const uid = process.getuid!();
    if (uid === 0) expect(Math.min(...owners)).toBeGreaterThan(1_000_000);
    expect(new Set(owners).size).toBe(uid === 0 ? 2 : 1);
  });
});

/** @module Limits and quotas keep the rest and say which; what goes frees its room; what expires is gone. */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Artifact, Execution, ExportResult } from "@sandbar/shared";
import { beforeEach, expect, it } from "vitest";
import { bytesOf, expectTrue, listed, remaining } from "../fixtures/artifacts.ts";
import type { Client } from "../fixtures/client.ts";
import { FaultProxy } from "../fixtures/fault-proxy.ts";
import { onD1, r2Keys } from "../fixtures/local-storage.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const A = "/session/artifacts";
const proxy = new FaultProxy();
const { stack } = useStack({
  vars: {
    ARTIFACT_MAX_BYTES: "100000",
    ARTIFACT_MAX_PER_EXECUTION: "10",
    SESSION_ARTIFACT_BYTES: "300000",
    TENANT_ARTIFACT_BYTES: "500000",
    TENANT_ARTIFACT_COUNT: "30",
    BLOB_GRACE_S: "2",
  },
  serverEnv: { SANDBAR_CRON_MS: "400" },
  agentThrough: proxy,
});
let client: Client;
let session: string;
let tenants = 0;

/** Each test has a tenant of its own, so that quotas begin empty. */
beforeEach(async () => {
  client = await stack.clientOf(`tenant-${++tenants}`);
  session = (await client.create()).id;
});

const write = (name: string, size: number, fill = name) =>
  `open("${A}/${name}", "w").write((${JSON.stringify(fill)} * ${size})[:${size}])`;
const names = ({ artifacts }: Execution) => artifacts.map(({ name }) => name).sort();
const exported = async (source: string) => {
  const files = [{ source }];
  const path = `/v1/sessions/${session}/export`;
  return (await client.ok<{ data: ExportResult[] }>("POST", path, { files })).data[0]!;
};
const usage = () => client.ok<{ artifacts: { count: number; bytes: number } }>("GET", "/v1/usage");

it("a file that is too large stays where it is, is named once, and the rest is kept", async () => {
  const execution = await client.run(session, `${write("big", 100_001)}\n${write("small", 10)}`);
  expect(names(execution)).toEqual(["small"]);
  expect(execution.artifacts_skipped).toEqual([{ name: "big", reason: expect.stringMatching(/^too large/) }]);
  expect((await client.run(session, "1")).artifacts_skipped).toEqual([]);
  expect(await remaining(client, session)).toEqual(["big"]);
  const shorter = await client.run(session, `import os; os.truncate("${A}/big", 5)`);
  expect(names(shorter)).toEqual(["big"]);
});

it("a file that is much too large is refused before it is read, which would take hours", async () => {
  const huge = `open("${A}/huge", "wb").truncate(1 << 40)`;
  const execution = await client.run(session, `${huge}\n${write("small", 10)}`);
  expect(names(execution)).toEqual(["small"]);
  expect(execution.artifacts_skipped).toEqual([
    { name: "huge", reason: expect.stringMatching(/^too large/) },
  ]);
  await client.run(session, `import os; os.rename("${A}/huge", "/session/huge")`);
  expect(await exported("/session/huge")).toMatchObject({
    ok: false,
    error: { code: "QUOTA_EXCEEDED", detail: expect.stringMatching(/^too large/) },
  });
});

it("a file whose size no number can say is refused like any other", async () => {
  const endless = (path: string) => `open("${path}", "wb").truncate((1 << 63) - 1)`;
  const execution = await client.run(session, `${endless(`${A}/endless`)}\n${write("small", 10)}`);
  expect(execution.status).toBe("ok");
  expect(names(execution)).toEqual(["small"]);
  expect(execution.artifacts_skipped).toEqual([
    { name: "endless", reason: expect.stringMatching(/^too large/) },
  ]);
  expect((await client.run(session, endless("/session/other"))).artifacts_skipped).toEqual([]);
  const { data } = await client.ok<{ data: { name: string; size: number }[] }>(
    "GET",
    `/v1/sessions/${session}/files/list?path=.`,
  );
  expect(data.find(({ name }) => name === "other")!.size).toBe(Number.MAX_SAFE_INTEGER);
  expect((await exported("/session/other")).error).toMatchObject({ code: "QUOTA_EXCEEDED" });
});

it("a folder that is much too large does not fill the host's disk on its way", async () => {
  await client.run(
    session,
    `import os; os.mkdir("/session/f"); open("/session/f/x", "wb").truncate(1 << 30)`,
  );
  let most = 0;
  const spool = join(stack.home, "spool");
  const watching = setInterval(() => {
    if (!existsSync(spool)) return;
    for (const file of readdirSync(spool))
      most = Math.max(most, statSync(join(spool, file), { throwIfNoEntry: false })?.size ?? 0);
  }, 5);
  const result = await exported("/session/f").finally(() => clearInterval(watching));
  expect(result.error).toMatchObject({ code: "QUOTA_EXCEEDED", detail: expect.stringMatching(/^too large/) });
  expect(most).toBeLessThan(100 << 20);
  expect(readdirSync(spool)).toEqual([]);
});

it("too many files: the rest is taken by the next execution", async () => {
  const first = await client.run(session, `for i in range(25): open(f"${A}/{i:02}", "w").write(str(i))`);
  expect(first.artifacts).toHaveLength(10);
  expect(first.artifacts_skipped).toHaveLength(15);
  expect(first.artifacts_skipped[0]!.reason).toMatch(/^too many/);
  expect((await client.run(session, "1")).artifacts).toHaveLength(10);
  expect((await client.run(session, "1")).artifacts).toHaveLength(5);
  const all = await listed(client, session);
  expect(all).toHaveLength(25);
  await expectTrue(all);
});

it("too many files when the session is stopped, or its container dies: all are taken", async () => {
  const many = Array.from({ length: 28 }, (_, i) => String(i).padStart(2, "0"));
  const code = `for i in range(28): open(f"${A}/{i:02}", "w").write(str(i))`;
  expect((await client.run(session, code)).artifacts).toHaveLength(10);
  await client.stop(session);
  const all = await listed(client, session);
  expect(all.map(({ name }) => name).sort()).toEqual(many);
  await expectTrue(all);

  client = await stack.clientOf(`tenant-${++tenants}`);
  const { id } = await client.create();
  await client.start(id, `${code}\nprint("written", flush=True)\nimport time; time.sleep(60)`);
  const container = await stack.containerOf(id);
  await eventually("files are written", 10_000, async () => {
    const { data } = await client.ok<{ data: unknown[] }>(
      "GET",
      `/v1/sessions/${id}/files/list?path=artifacts`,
    );
    return data.length === 28;
  });
  await container.kill();
  await eventually("the session has failed", 20_000, async () => {
    const { status, error } = await client.ok<{ status: string; error?: { detail: string } }>(
      "GET",
      `/v1/sessions/${id}`,
    );
    if (status === "failed") expect(error?.detail).toContain("28 of its artifacts were saved");
    return status === "failed";
  });
  expect((await listed(client, id)).map(({ name }) => name).sort()).toEqual(many);
});

it("more files than one look finds are mentioned, too", async () => {
  const execution = await client.run(session, `for i in range(2010): open(f"${A}/{i}", "w").close()`);
  expect(execution.artifacts).toHaveLength(10);
  expect(execution.artifacts_skipped).toHaveLength(1991);
  expect(execution.artifacts_skipped.at(-1)).toEqual({
    name: "",
    reason: expect.stringContaining("next execution"),
  });
});

it("over the session's quota the rest is kept, and deleting frees room", async () => {
  const code = [1, 2, 3, 4].map((n) => write(`f${n}`, 90_000)).join("\n");
  const execution = await client.run(session, code);
  expect(names(execution)).toEqual(["f1", "f2", "f3"]);
  expect(execution.artifacts_skipped).toEqual([
    { name: "f4", reason: expect.stringMatching(/^over quota: the session/) },
  ]);
  expect(await usage()).toMatchObject({ artifacts: { count: 3, bytes: 270_000 } });
  await client.ok("DELETE", `/v1/artifacts/${execution.artifacts[0]!.id}`);
  expect(await usage()).toMatchObject({ artifacts: { count: 2, bytes: 180_000 } });
  expect(names(await client.run(session, "1"))).toEqual(["f4"]);
});

it("the tenant's quota holds when many sessions record at once", async () => {
  const sessions = [session, (await client.create()).id, (await client.create()).id];
  const executions = await Promise.all(
    sessions.map((id, n) => client.run(id, [1, 2, 3].map((i) => write(`${n}-${i}`, 90_000)).join("\n"))),
  );
  const kept = executions.flatMap(({ artifacts }) => artifacts);
  const refused = executions.flatMap(({ artifacts_skipped }) => artifacts_skipped);
  expect(kept).toHaveLength(5);
  expect(refused).toHaveLength(4);
  expect(refused.every(({ reason }) => /^over quota: the tenant/.test(reason))).toBe(true);
  expect(await usage()).toMatchObject({ artifacts: { count: 5, bytes: 450_000 } });
  await Promise.all(sessions.slice(1).map((id) => client.stop(id)));
});

it("content that the tenant has is never sent again; another tenant's is, so nobody can probe", async () => {
  const sent = () => proxy.bytesTo(/^\/agent\/artifacts$/);
  const before = sent();
  const [first] = (await client.run(session, write("a", 50_000, "same"))).artifacts;
  expect(sent() - before).toBeGreaterThan(50_000);
  const between = sent();
  const [second] = (await client.run(session, write("b", 50_000, "same"))).artifacts;
  expect(sent() - between).toBeLessThan(2_000);
  expect(second!.sha256).toBe(first!.sha256);
  expect(second!.id).not.toBe(first!.id);
  const other = await stack.clientOf(`tenant-${++tenants}`);
  const theirs = (await other.create()).id;
  const later = sent();
  await other.run(theirs, write("c", 50_000, "same"));
  expect(sent() - later).toBeGreaterThan(50_000);
  await other.stop(theirs);
});

it("bytes go when the last artifact that has them goes", async () => {
  const { artifacts } = await client.run(
    session,
    `${write("x", 100, "shared")}\n${write("y", 100, "shared")}\n${write("z", 100, "own")}`,
  );
  const [x, y, z] = ["x", "y", "z"].map((name) => artifacts.find((artifact) => artifact.name === name)!);
  await client.ok("DELETE", `/v1/artifacts/${x!.id}`);
  expect((await fetch(x!.url)).status).toBe(404);
  expect((await client.problem("DELETE", `/v1/artifacts/${x!.id}`)).status).toBe(404);
  expect((await bytesOf(y!)).length).toBe(100);
  await client.ok("DELETE", `/v1/artifacts/${y!.id}`);
  expect((await fetch(y!.url)).status).toBe(404);
  expect((await bytesOf(z!)).length).toBe(100);
  const [again] = (await client.run(session, write("x", 100, "shared"))).artifacts;
  expect((await bytesOf(again!)).length).toBe(100);
});

it("content whose record failed is collected, and nothing else", async () => {
  const [kept] = (await client.run(session, write("kept", 1000))).artifacts;
  const mine = () => r2Keys(stack).filter((key) => key.startsWith(`blobs/tenant-${tenants}/`));
  onD1(stack, (db) =>
    db.exec("CREATE TRIGGER broken BEFORE INSERT ON artifacts BEGIN SELECT RAISE(ABORT, 'broken'); END"),
  );
  const running = client.run(session, write("late", 5000));
  await eventually("stored more than once", 15_000, () => mine().length > 2);
  onD1(stack, (db) => db.exec("DROP TRIGGER broken"));
  const [late] = (await running).artifacts;
  await eventually("collected", 15_000, () => mine().length === 2);
  const expected = [kept!.sha256, late!.sha256].sort();
  expect(mine().map((key) => key.split("/")[2])).toEqual(expected);
  await expectTrue(await listed(client, session));
});

it("sweeping never takes what an artifact has", async () => {
  const { artifacts } = await client.run(session, `${write("p", 1000)}\n${write("q", 1000)}`);
  await new Promise((resolve) => setTimeout(resolve, 3_500));
  await expectTrue(artifacts as Artifact[]);
});

it("what expires is gone from lists at once and from the store with the next sweep", async () => {
  await stack.killServer("SIGTERM");
  await stack.startServer({ vars: { ARTIFACT_TTL_S: "2" } });
  await stack.waitForHost("online");
  const { artifacts } = await client.run(session, write("soon", 1000));
  expect(artifacts[0]!.expires_at).toBeTruthy();
  await expectTrue(artifacts as Artifact[]);
  await eventually("gone", 10_000, async () => (await listed(client, session)).length === 0);
  expect((await fetch(artifacts[0]!.url)).status).toBeGreaterThanOrEqual(403);
  await eventually("swept", 10_000, async () => (await usage()).artifacts.count === 0);
  await eventually("dropped", 10_000, () => !r2Keys(stack).some((key) => key.includes(artifacts[0]!.sha256)));
});

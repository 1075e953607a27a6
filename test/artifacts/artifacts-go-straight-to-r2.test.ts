/** @module With R2's S3 credentials large content and links do not pass through the Worker; exports, imports too. */
import type { Artifact, ExportResult } from "@sandbar/shared";
import { beforeAll, expect, it } from "vitest";
import { bytesOf, expectTrue, remaining } from "../fixtures/artifacts.ts";
import { FaultProxy } from "../fixtures/fault-proxy.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { freePort } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const A = "/session/artifacts";
const proxy = new FaultProxy();
let session: string;
let s3: string;
let port: number;
beforeAll(async () => {
  port = await freePort();
  s3 = `http://127.0.0.1:${port}/cdn-cgi/local/r2/s3`;
});
const { client } = useStack(() => ({
  vars: {
    R2_ACCESS_KEY_ID: "local-access-key",
    R2_SECRET_ACCESS_KEY: "local-secret-key",
    R2_ENDPOINT: s3,
    R2_BUCKET: "sandbar-blobs",
  },
  serverEnv: { SANDBAR_ENTRY_PORT: String(port) },
  agentThrough: proxy,
}));
beforeAll(async () => {
  session = (await client.create({ storage: "BIND" })).id;
});

it("a large file goes up in parts to presigned URLs, and its link is a presigned URL", async () => {
  const execution = await client.run(
    session,
    `import os, hashlib
b = os.urandom(70 << 20); open("${A}/large.bin", "wb").write(b); print(hashlib.sha256(b).hexdigest())`,
    { timeout_s: 60 },
  );
  expect(execution.artifacts_skipped).toEqual([]);
  const [artifact] = execution.artifacts;
  expect(artifact).toMatchObject({ size: 70 << 20, sha256: execution.stdout.trim() });
  expect(artifact!.url.startsWith(`${s3}/`)).toBe(true);
  await expectTrue(execution.artifacts);
  expect(proxy.bytesTo(/^\/agent\//)).toBeLessThan(10_000);
});

it("the presigned link carries the name, and cannot be changed", async () => {
  const { artifacts } = await client.run(
    session,
    `open("${A}/ü 1.txt", "w").write("one"); open("${A}/two.html", "w").write("<b>two</b>")`,
  );
  await expectTrue(artifacts);
  const one = artifacts.find(({ name }) => name === "ü 1.txt")!;
  // R2 answers with what these say; Miniflare's endpoint only checks that they are signed.
  const { searchParams } = new URL(one.url);
  expect(searchParams.get("response-content-disposition")).toContain("filename*=UTF-8''%C3%BC%201.txt");
  expect(searchParams.get("response-content-type")).toBe("text/plain; charset=utf-8");
  const forged = new URL(one.url);
  forged.searchParams.set("response-content-type", "text/html");
  expect((await fetch(forged)).status).toBe(403);
});

it("files and folders are exported without leaving the session", async () => {
  await client.run(
    session,
    `import os; os.makedirs("/session/out/sub", exist_ok=True)
open("/session/out/a.txt", "w").write("a"); open("/session/out/sub/b.txt", "w").write("b"); open("/session/big", "wb").write(b"x" * (5 << 20))`,
  );
  const { data } = await client.ok<{ data: ExportResult[] }>("POST", `/v1/sessions/${session}/export`, {
    files: [
      { source: "out/a.txt" },
      { source: "/session/out", name: "tree.tar" },
      { source: "/session/missing" },
      { source: "/session/big", name: "deep/big.bin" },
    ],
  });
  expect(data.map(({ ok }) => ok)).toEqual([true, true, false, true]);
  expect(data[0]!.artifact).toMatchObject({ name: "a.txt", execution_id: null, sha256: sha256("a") });
  expect(data[1]!.artifact).toMatchObject({ name: "tree.tar", mime: "application/x-tar" });
  expect((await bytesOf(data[1]!.artifact!)).includes("sub/b.txt")).toBe(true);
  expect(data[2]!.error).toMatchObject({ code: "NOT_FOUND" });
  expect(data[3]!.artifact).toMatchObject({ name: "deep/big.bin", size: 5 << 20 });
  await expectTrue(data.flatMap(({ artifact }) => artifact ?? []) as Artifact[]);
  const { stdout } = await client.run(session, `print(open("/session/out/a.txt").read())`);
  expect(stdout).toBe("a\n");
  expect(await remaining(client, session)).toEqual([]);
});

it("a later session imports an artifact by its id", async () => {
  const { artifacts } = await client.run(session, `open("${A}/seed.csv", "w").write("1,2,3")`);
  const later = (await client.create()).id;
  await client.ok("POST", `/v1/sessions/${later}/import`, {
    files: [{ destination: "/session/seed.csv", artifact_id: artifacts[0]!.id }],
  });
  expect((await client.run(later, `print(open("/session/seed.csv").read())`)).stdout).toBe("1,2,3\n");
  await client.stop(later);
});

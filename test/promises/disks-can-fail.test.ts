/** @module A disk is full, or has lost bytes that it had. */
import { type ChildProcess, execFileSync } from "node:child_process";
import { readdirSync, readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Problem } from "@sandbar/shared";
import { beforeAll, describe, expect, it } from "vitest";
import { bytesOf, expectTrue, listed } from "../fixtures/artifacts.ts";
import { eventually } from "../fixtures/stack.ts";
import { startStack, useStack } from "../fixtures/use-stack.ts";

const A = "/session/artifacts";

describe("bytes that the store has lost", () => {
  const { stack, client } = useStack();
  let session: string;
  beforeAll(async () => {
    session = (await client.create()).id;
  });

  const blobs = () => join(stack.home, "state/r2/sandbar-blobs/blobs");
  const make = async (name: string) =>
    (await client.run(session, `open("${A}/${name}", "w").write("${name}" * 1000)`)).artifacts[0]!;

  it.each<[string, (file: string) => void]>([
    ["gone", (file) => rmSync(file)],
    ["empty", (file) => truncateSync(file, 0)],
    ["shorter", (file) => truncateSync(file, 1000)],
  ])(
    "are said to be lost when their file is %s, and come back when they are made again",
    async (name, harm) => {
      const before = new Set(readdirSync(blobs()));
      const artifact = await make(name);
      harm(join(blobs(), readdirSync(blobs()).find((file) => !before.has(file))!));
      for (const headers of [{ range: "bytes=900-1100" }, {}] as Record<string, string>[]) {
        const answer = await fetch(artifact.url, { headers });
        expect([answer.status, ((await answer.json()) as Problem).code]).toEqual([410, "CONTENT_LOST"]);
      }
      const imported = await client.ok("POST", `/v1/sessions/${session}/import`, {
        files: [{ destination: "x", artifact_id: artifact.id }],
      });
      expect(JSON.stringify(imported)).toContain("CONTENT_LOST");
      const again = await make(name);
      expect(again.sha256).toBe(artifact.sha256);
      expect((await bytesOf(artifact)).toString()).toBe(name.repeat(1000));
      await expectTrue(await listed(client, session));
    },
  );
});

it("files that no object has, as uploads that were cut leave them, are removed after an hour", async () => {
  const { stack, client } = await startStack();
  const { id } = await client.create();
  // Two in one object, one in its own.
  const { artifacts } = await client.run(
    id,
    `for name in "ab": open(f"${A}/{name}", "w").write(name)\nopen("${A}/c", "wb").write(bytes(5_000_000))`,
  );
  const blobs = join(stack.home, "state/r2/sandbar-blobs/blobs");
  await stack.killServer();
  for (const name of ["old", ".old.tmp", "new"]) writeFileSync(join(blobs, name), "stray");
  const hourAgo = Date.now() / 1000 - 3601;
  for (const name of readdirSync(blobs)) if (name !== "new") utimesSync(join(blobs, name), hourAgo, hourAgo);
  await stack.startServer();
  await eventually("the old ones are gone", 10_000, () => readdirSync(blobs).length === 3);
  expect(readdirSync(blobs)).toContain("new");
  expect(artifacts).toHaveLength(3);
  await expectTrue(await listed(client, id));
});

describe("a full disk", () => {
  const { stack, client } = useStack();
  let state: string;
  beforeAll(async () => {
    state = join(stack.home, "state");
    await stack.killServer();
    moveToDisk(state, "64m");
    await stack.startServer();
  });

  it("refuses with a code, and all goes on where it was when there is room", async () => {
    const { id } = await client.create();
    await client.run(id, "x = 1");
    fillUp(state);
    for (const [method, path, body] of [
      ["POST", `/v1/sessions/${id}/executions`, { code: "x += 1" }],
      ["POST", "/v1/sessions", {}],
    ] as const) {
      const answer = await client.problem(method, path, body);
      expect([answer.status, answer.body.code, answer.body.retryable]).toEqual([500, "INTERNAL", true]);
    }
    expect((await client.call("GET", `/v1/sessions/${id}`)).status).toBe(200);
    makeRoom(state);
    expect((await client.run(id, "x += 1; print(x)")).stdout).toBe("2\n");
    await client.stop(id);
  });

  it("does not lose what ends meanwhile, nor what it leaves behind", async () => {
    const { id } = await client.create();
    const code = `import time
print("before", flush=True)
while not __import__("os").path.exists("/session/go"): time.sleep(0.05)
open("${A}/kept.txt", "w").write("kept")
print("after")`;
    const execution = await client.start(id, code);
    await eventually("the code runs", 20_000, async () => {
      return (await client.execution(id, execution.id)).stdout === "before\n";
    });
    const failures = () =>
      readFileSync(join(stack.home, "server.log"), "utf8").split("session not reached yet").length;
    const before = failures();
    fillUp(state);
    const [container] = await stack.containers();
    execFileSync("docker", ["exec", container!.Id, "touch", "/session/go"]);
    await eventually("it could not be written", 20_000, () => failures() > before);
    makeRoom(state);
    const ended = await client.finished(id, execution.id);
    expect(ended).toMatchObject({ status: "ok", stdout: "before\nafter\n" });
    expect(ended.artifacts.map(({ name }) => name)).toEqual(["kept.txt"]);
    await expectTrue(ended.artifacts);
    await client.stop(id);
  });
});

describe("a host's full disk", () => {
  const { stack, client } = useStack();
  let journal: string;
  let daemon: ChildProcess;
  beforeAll(async () => {
    journal = join(stack.home, "host");
    await stack.killAgent("SIGTERM");
    moveToDisk(journal, "16m");
    daemon = await stack.startAgent();
  });

  it("ends the daemon, and the next one reports what ended meanwhile", async () => {
    const { id } = await client.create();
    await client.run(id, "x = 1");
    const running = await client.start(
      id,
      `import os, time
while not os.path.exists("/session/go"): time.sleep(0.05)
x += 1
open("${A}/kept.txt", "w").write("kept")
print(x)`,
    );
    const queued = await client.start(id, "x += 1; print(x)");
    await eventually("the code runs", 20_000, async () => {
      return (await client.execution(id, running.id)).status === "running";
    });
    fillUp(journal);
    const [container] = await stack.containers();
    execFileSync("docker", ["exec", container!.Id, "touch", "/session/go"]);
    await eventually("the daemon ends", 20_000, () => daemon.exitCode !== null);
    expect(daemon.exitCode).toBe(1);
    expect(stack.agentLog()).toContain("the journal cannot be written");
    const next = await stack.startAgent({ wait: false });
    await eventually("the next one ends too", 20_000, () => next.exitCode !== null);
    expect(stack.agentLog()).toContain("is the disk of SANDBAR_HOME full?");
    makeRoom(journal);
    await stack.startAgent();
    const ended = await client.finished(id, running.id);
    expect(ended).toMatchObject({ status: "ok", stdout: "2\n" });
    await expectTrue(ended.artifacts);
    expect(ended.artifacts.map(({ name }) => name)).toEqual(["kept.txt"]);
    expect((await client.finished(id, queued.id)).stdout).toBe("3\n");
    await client.stop(id);
  });
});

/** Onto a disk of its own, of this size. */
function moveToDisk(folder: string, size: string): void {
  const copy = `${folder}.before`;
  execFileSync("cp", ["-a", folder, copy]);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size}`, "tmpfs", folder]);
  execFileSync("cp", ["-a", `${copy}/.`, folder]);
}

function fillUp(folder: string): void {
  // It ends with an error, when there is no room any more.
  expect(() =>
    execFileSync("dd", ["if=/dev/zero", `of=${join(folder, "fill")}`, "bs=4k"], { stdio: "ignore" }),
  ).toThrow();
}

function makeRoom(folder: string): void {
  rmSync(join(folder, "fill"));
}

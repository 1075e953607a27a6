import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { expectTrue, listed } from "../fixtures/artifacts.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const A = "/session/artifacts";
const WRITE = `import os, time
os.makedirs("${A}/deep/er")
open("${A}/a b.txt", "w").write("small")
open("${A}/deep/er/large.bin", "wb").write(os.urandom(3 << 20))
os.link("${A}/deep/er/large.bin", "${A}/large too.bin")
open("${A}/empty", "w")
os.symlink("/etc/passwd", "${A}/link")
os.symlink("/etc", "${A}/folder")
os.mkfifo("${A}/pipe")
print("written", flush=True)
time.sleep(60)`;
const { stack, client } = useStack({ vars: { ARTIFACT_MAX_PER_EXECUTION: "0" } });

async function written(storage: "BIND" | "TMPFS", code = WRITE): Promise<string> {
  const { id } = await client.create({ storage });
  const { id: execution } = await client.start(id, code);
  await eventually("files are written", 10_000, async () =>
    (await client.execution(id, execution)).stdout.includes("written"),
  );
  return id;
}

async function failed(id: string): Promise<{ code: string; detail: string }> {
  let error: { code: string; detail: string } | undefined;
  await eventually("the session has failed", 20_000, async () => {
    const session = await client.ok<{ status: string; error?: typeof error }>("GET", `/v1/sessions/${id}`);
    error = session.error;
    return session.status === "failed";
  });
  return error!;
}

async function expectSaved(id: string): Promise<void> {
  const all = await listed(client, id);
  expect(all.map(({ name }) => name).sort()).toEqual([
    "a b.txt",
    "deep/er/large.bin",
    "empty",
    "large too.bin",
  ]);
  await expectTrue(all);
}

it.each(["BIND", "TMPFS"] as const)("files of a killed container are saved (%s)", async (storage) => {
  const id = await written(storage);
  await (await stack.containerOf(id)).kill();
  expect(await failed(id)).toMatchObject({
    code: "CONTAINER_DIED",
    detail: expect.stringContaining("4 of its artifacts were saved, 3 were not"),
  });
  await expectSaved(id);
  const folder = join(stack.home, "sessions", id, "artifacts");
  expect(existsSync(folder)).toBe(storage === "BIND");
  if (storage === "BIND")
    await eventually("only what could not be saved is left", 5000, () =>
      expectLeft(readdirSync(folder), ["folder", "link", "pipe"]),
    );
});

it("also when the container died without a daemon", async () => {
  const id = await written("BIND");
  await stack.killAgent();
  await (await stack.containerOf(id)).kill();
  await stack.startAgent();
  expect((await failed(id)).code).toBe("CONTAINER_DIED");
  await expectSaved(id);
});

const MANY = `import time
for i in range(4500): open(f"${A}/{i}", "w").write(f"{i}")
print("written", flush=True)
time.sleep(60)`;

it("more files than one look finds are saved, from a killed container", async () => {
  const id = await written("TMPFS", MANY);
  await (await stack.containerOf(id)).kill();
  expect((await failed(id)).detail).toMatch(/; 4500 of its artifacts were saved$/);
  expect(await listed(client, id)).toHaveLength(4500);
});

it("more files than one look finds are saved, from a stopped session", async () => {
  const id = await written("TMPFS", MANY);
  await client.stop(id);
  await eventually("stopped", 30_000, async () => {
    const { status } = await client.ok<{ status: string }>("GET", `/v1/sessions/${id}`);
    return status === "stopped";
  });
  expect(await listed(client, id)).toHaveLength(4500);
});

it("also when nobody could be told for longer than a stop waits", async () => {
  const id = await written("TMPFS");
  const container = await stack.containerOf(id);
  await stack.killServer();
  await container.kill();
  await sleep(33_000);
  await stack.startServer();
  expect((await failed(id)).detail).toContain("4 of its artifacts were saved");
  await expectSaved(id);
}, 90_000);

function expectLeft(names: string[], expected: string[]): boolean {
  return JSON.stringify(names.sort()) === JSON.stringify(expected);
}

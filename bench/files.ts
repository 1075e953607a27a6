/** @module Bytes in and out of a session, beside `docker exec tar`, and what 2 GB cost in memory. */
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Client } from "@sandbar/test/fixtures/client.ts";
import { docker, type Stack } from "@sandbar/test/fixtures/stack.ts";
import { request } from "undici";
import { ms, ratio, summarize } from "./statistics.ts";

const BYTES = 50_000_000;
const BIG_BYTES = 2 * 1024 ** 3;
const CHUNK = randomBytes(1 << 20);

export async function benchFiles(client: Client, rounds = 7): Promise<string[][]> {
  const { id } = await client.create({ limits: { memory_mb: 1024, tmpfs_mb: 256 } });
  const container = await docker.createContainer({
    Image: "sandbar/python:latest",
    Entrypoint: ["sleep"],
    Cmd: ["infinity"],
    HostConfig: { NetworkMode: "none", Tmpfs: { "/session": "mode=1777,size=256m" } },
    Labels: { "sandbar.bench": "files" },
  });
  const folder = mkdtempSync(join(tmpdir(), "sandbar-bench-"));
  const samples = { in: [] as number[], out: [] as number[], tarIn: [] as number[], tarOut: [] as number[] };
  try {
    await container.start();
    const content = randomBytes(BYTES);
    writeFileSync(join(folder, "file.bin"), content);
    for (let round = 0; round < rounds; round++) {
      samples.in.push(await timed(() => put(client, id, "file.bin", content)));
      samples.out.push(await timed(async () => void (await read(client, id, "file.bin", BYTES))));
      const into = `tar -C ${folder} -cf - file.bin | docker exec -u 0 -i ${container.id} tar -C /session -xf -`;
      samples.tarIn.push(await timed(() => shell(into)));
      const from = `docker exec -u 0 ${container.id} tar -C /session -cf - file.bin | tar -xOf - > /dev/null`;
      samples.tarOut.push(await timed(() => shell(from)));
    }
  } finally {
    rmSync(folder, { recursive: true });
    await container.remove({ force: true });
    await client.stop(id);
  }
  const row = (what: string, ours: number[], theirs: number[]) => {
    const [a, b] = [summarize(ours).median, summarize(theirs).median];
    return [what, ms(a), ms(b), ratio(b / a)];
  };
  return [row("50 MB in", samples.in, samples.tarIn), row("50 MB out", samples.out, samples.tarOut)];
}

/** Growth of each process's resident memory while 2 GB go in and come out again. */
export async function benchMemory(stack: Stack, client: Client): Promise<string[][]> {
  const { id } = await client.create({ storage: "BIND" });
  try {
    const { State } = await (await stack.containerOf(id)).inspect();
    const processes = { workerd: stack.workerdPid, "agent-host": stack.agentPid, guest: State.Pid };
    await put(client, id, "warm.bin", CHUNK);
    const before = Object.entries(processes).map(([name, pid]) => ({ name, pid, rss: rssMb(pid), peak: 0 }));
    const watch = setInterval(() => {
      for (const process of before) process.peak = Math.max(process.peak, rssMb(process.pid));
    }, 50);
    const began = performance.now();
    await put(client, id, "big.bin", chunks(BIG_BYTES), BIG_BYTES);
    const between = performance.now();
    await read(client, id, "big.bin", BIG_BYTES);
    clearInterval(watch);
    const rate = (from: number, to: number) => `${(BIG_BYTES / 1e6 / ((to - from) / 1000)).toFixed(0)} MB/s`;
    return [
      ...before.map(({ name, rss, peak }) => [name, rss.toFixed(0), peak.toFixed(0)]),
      [`2 GB in: ${rate(began, between)}`, "", ""],
      [`2 GB out: ${rate(between, performance.now())}`, "", ""],
    ];
  } finally {
    await client.run(id, "import os; os.remove('/session/big.bin')").catch(() => {});
    await client.stop(id);
  }
}

function* chunks(bytes: number): Generator<Buffer> {
  for (let left = bytes; left > 0; left -= CHUNK.length)
    yield CHUNK.subarray(0, Math.min(left, CHUNK.length));
}

async function put(client: Client, id: string, path: string, body: Buffer | Iterable<Buffer>, size?: number) {
  const answer = await request(`${client.url}/v1/sessions/${id}/files?path=${path}`, {
    method: "PUT",
    headers: {
      authorization: `Bearer ${client.key}`,
      "content-length": String(size ?? (body as Buffer).length),
    },
    body: Buffer.isBuffer(body) ? body : Readable.from(body),
  });
  if (answer.statusCode >= 300) throw new Error(`${answer.statusCode} ${await answer.body.text()}`);
  await answer.body.dump();
}

async function read(client: Client, id: string, path: string, expected: number): Promise<void> {
  const answer = await request(`${client.url}/v1/sessions/${id}/files?path=${path}`, {
    headers: { authorization: `Bearer ${client.key}` },
  });
  let bytes = 0;
  for await (const chunk of answer.body) bytes += (chunk as Buffer).length;
  if (bytes !== expected) throw new Error(`${bytes} bytes came instead of ${expected}`);
}

async function timed(work: () => unknown): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

function shell(command: string): void {
  if (spawnSync("sh", ["-c", command]).status !== 0) throw new Error(`failed: ${command}`);
}

function rssMb(pid: number): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;
}

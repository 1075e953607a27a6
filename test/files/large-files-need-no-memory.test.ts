import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { request } from "undici";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../fixtures/client.ts";
import { FileClient } from "../fixtures/files.ts";
import { Stack } from "../fixtures/stack.ts";

const MB = 1024 * 1024;
/** SANDBAR_BIG=1 sends 2 GB. */
const SIZE_MB = process.env.SANDBAR_BIG ? 2048 : 256;
/** What garbage collectors leave lying about, however much passes. */
const SLACK_MB = 96;

describe(`${SIZE_MB} MB pass in constant memory`, () => {
  let stack: Stack;
  let client: Client;
  let session: string;
  let files: FileClient;
  let guestPid = 0;
  let sent = "";

  beforeAll(async () => {
    stack = await Stack.start();
    client = stack.client();
    session = (await client.create({ storage: "BIND", limits: { memory_mb: 512, tmpfs_mb: 64 } })).id;
    files = new FileClient(client, session);
    guestPid = (await (await stack.containerOf(session)).inspect()).State.Pid;
    // Code is loaded and buffers are grown once, whatever the size.
    await files.put("warm", Buffer.alloc(16 * MB));
    await files.get("warm");
  });
  afterAll(async () => {
    await files?.agent.destroy();
    await stack?.close();
  });

  const rss = (pid: number) =>
    Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1024;

  /** Megabytes that each part had more than at first, at its worst. */
  async function growth(work: () => Promise<void>): Promise<Record<string, number>> {
    const parts = { workerd: stack.workerdPid, daemon: stack.agentPid, guest: guestPid };
    const first = Object.entries(parts).map(([name, pid]) => [name, pid, rss(pid)] as const);
    const most: Record<string, number> = { workerd: 0, daemon: 0, guest: 0 };
    const timer = setInterval(() => {
      for (const [name, pid, before] of first)
        most[name] = Math.max(most[name]!, Math.round(rss(pid) - before));
    }, 50);
    await work().finally(() => clearInterval(timer));
    return most;
  }

  async function measured(what: string, work: () => Promise<void>): Promise<void> {
    const begun = performance.now();
    const grown = await growth(work);
    const rate = Math.round(SIZE_MB / ((performance.now() - begun) / 1000));
    console.log(`${what}: ${SIZE_MB} MB at ${rate} MB/s; grew by ${JSON.stringify(grown)} MB`);
    expect(Object.entries(grown).filter(([, mb]) => mb > SLACK_MB)).toEqual([]);
  }

  function* chunks(): Generator<Buffer> {
    const chunk = Buffer.alloc(MB);
    for (let i = 0; i < SIZE_MB; i++) {
      chunk.writeUInt32LE(i, 0);
      yield Buffer.from(chunk);
    }
  }

  it("into a session", { timeout: 300_000 }, async () => {
    const hash = createHash("sha256");
    for (const chunk of chunks()) hash.update(chunk);
    sent = hash.digest("hex");
    await measured("in", async () => {
      const body = Readable.from(chunks(), { highWaterMark: 2 });
      const headers = { "content-length": String(SIZE_MB * MB) };
      expect(await files.put("big.bin", body, {}, headers)).toEqual({ size: SIZE_MB * MB, sha256: sent });
    });
  });

  it("out of a session", { timeout: 300_000 }, async () => {
    await measured("out", async () => {
      const hash = createHash("sha256");
      const answer = await request(files.url({ path: "big.bin" }), {
        headers: files.headers,
        dispatcher: files.agent,
      });
      expect(answer.headers["content-length"]).toBe(String(SIZE_MB * MB));
      const sink = new Writable({
        write(chunk, _encoding, done) {
          hash.update(chunk);
          done();
        },
      });
      await pipeline(answer.body, sink);
      expect(hash.digest("hex")).toBe(sent);
    });
  });

  it("out as an archive, and from one session into another", { timeout: 600_000 }, async () => {
    const { id } = await client.create({ storage: "BIND", limits: { memory_mb: 512, tmpfs_mb: 64 } });
    await client.run(
      session,
      `import os; os.makedirs("/session/only"); os.rename("/session/big.bin", "/session/only/big.bin")`,
    );
    await measured("session to session", async () => {
      const asked = { files: [{ destination: "copy", session_id: session, path: "only" }] };
      const { data } = await client.ok<{ data: { ok: boolean }[] }>(
        "POST",
        `/v1/sessions/${id}/import`,
        asked,
      );
      expect(data[0]).toMatchObject({ ok: true });
    });
    expect((await new FileClient(client, id).stat("copy/big.bin")).size).toBe(SIZE_MB * MB);
  });
});

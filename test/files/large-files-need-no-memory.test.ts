import { createHash } from "node:crypto";
import { Readable, Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { request } from "undici";
import { beforeAll, describe, expect, it } from "vitest";
import { expectConstantMemory, MB, megabytes } from "../fixtures/constant-memory.ts";
import { FileClient } from "../fixtures/files.ts";
import { useStack } from "../fixtures/use-stack.ts";

/** SANDBAR_BIG=1 sends 2 GB. */
const SIZE_MB = process.env.SANDBAR_BIG ? 2048 : 256;
/** What garbage collectors leave lying about, however much passes. */
const SLACK_MB = 96;

describe(`${SIZE_MB} MB pass in constant memory`, () => {
  const { stack, client } = useStack();
  let session: string;
  let files: FileClient;
  let sent = "";

  beforeAll(async () => {
    session = (await client.create({ storage: "BIND", limits: { memory_mb: 512, tmpfs_mb: 64 } })).id;
    files = new FileClient(client, session);
    // Code is loaded and buffers are grown once, whatever the size.
    await files.put("warm", Buffer.alloc(16 * MB));
    await files.get("warm");
  });

  const measured = (what: string, work: () => Promise<void>) =>
    expectConstantMemory(stack, session, { what, mb: SIZE_MB, slackMb: SLACK_MB }, work);

  it("into a session", { timeout: 300_000 }, async () => {
    const hash = createHash("sha256");
    for (const chunk of megabytes(SIZE_MB)) hash.update(chunk);
    sent = hash.digest("hex");
    await measured("in", async () => {
      const body = Readable.from(megabytes(SIZE_MB), { highWaterMark: 2 });
      const headers = { "content-length": String(SIZE_MB * MB) };
      expect(await files.put("big.bin", body, {}, headers)).toMatchObject({
        size: SIZE_MB * MB,
        sha256: sent,
      });
    });
  });

  it("out of a session", { timeout: 300_000 }, async () => {
    await measured("out", async () => {
      const hash = createHash("sha256");
      const answer = await request(files.url({ path: "big.bin" }), {
        headers: files.headers,
        dispatcher: client.dispatcher,
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

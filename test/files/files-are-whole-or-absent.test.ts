import { randomBytes } from "node:crypto";
import http from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { FileClient } from "../fixtures/files.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const MB = 1024 * 1024;

describe("a file is whole or absent, and nobody waits for one who has gone", () => {
  const { stack, client } = useStack();
  let files: FileClient;
  let session: string;

  beforeAll(async () => {
    session = (await client.create({ limits: { memory_mb: 1024, tmpfs_mb: 300 } })).id;
    files = new FileClient(client, session);
  });

  const names = async () => (await files.list({ path: "." })).data.map(({ name }) => name);
  const threads = async () => {
    const status = await client.run(session, `print(open("/proc/1/status").read())`);
    return Number(/Threads:\s+(\d+)/.exec(status.stdout)?.[1]);
  };

  /** A request that sends so much of its body, and is then cut. */
  async function cutUpload(path: string, declared: number | null, sent: number): Promise<void> {
    const request = http.request(files.url({ path }), {
      method: "PUT",
      headers: { ...files.headers, ...(declared === null ? {} : { "content-length": declared }) },
    });
    request.on("error", () => {});
    request.flushHeaders();
    for (let left = sent; left > 0; left -= MB)
      if (!request.write(randomBytes(Math.min(left, MB))))
        await Promise.race([new Promise((r) => request.once("drain", r)), sleep(1000)]);
    await sleep(300);
    request.destroy();
  }

  it("leaves nothing of an upload that was cut, whether its length was known or not", async () => {
    await files.put("old", "the old content");
    for (const declared of [50 * MB, null]) {
      await cutUpload("old", declared, 10 * MB);
      await cutUpload("new", declared, 10 * MB);
    }
    await eventually(
      "no part is left",
      10_000,
      async () => !(await names()).some((name) => name.includes(".part")),
    );
    expect(await names()).not.toContain("new");
    expect((await files.get("old")).bytes.toString()).toBe("the old content");
  });

  it("frees guest and daemon when a reader hangs up", async () => {
    await files.put("large", Buffer.alloc(100 * MB, 7));
    for (let i = 0; i < 10; i++) {
      const response = await new Promise<http.IncomingMessage>((resolve) =>
        http.get(files.url({ path: "large" }), { headers: files.headers }, resolve),
      );
      await new Promise((resolve) => response.once("data", resolve));
      response.destroy();
    }
    await eventually("the guest's threads have ended", 10_000, async () => (await threads()) === 1);
    expect((await files.get("large")).bytes.length).toBe(100 * MB);
  });

  it("serves others while readers stall", async () => {
    const stalled = await Promise.all(
      Array.from(
        { length: 5 },
        () =>
          new Promise<http.IncomingMessage>((resolve) =>
            http.get(files.url({ path: "large" }), { headers: files.headers }, (response) =>
              resolve(response.pause()),
            ),
          ),
      ),
    );
    expect((await files.get("old")).bytes.toString()).toBe("the old content");
    expect((await client.run(session, "6 * 7")).text).toBe("42");
    for (const response of stalled) response.destroy();
    await eventually("the guest's threads have ended", 10_000, async () => (await threads()) === 1);
  });

  it("moves twenty files at once, though the guest works on eight at a time", async () => {
    const contents = Array.from({ length: 20 }, () => randomBytes(2 * MB));
    await Promise.all(contents.map((bytes, i) => files.put(`crowd/${i}`, bytes)));
    const back = await Promise.all(contents.map((_, i) => files.get(`crowd/${i}`)));
    expect(back.map(({ bytes }, i) => bytes.equals(contents[i]!))).toEqual(contents.map(() => true));
  });

  it("lets the last of two writers win, whole", async () => {
    const [a, b] = [Buffer.alloc(5 * MB, "a"), Buffer.alloc(5 * MB, "b")];
    await Promise.all([files.put("both", a), files.put("both", b)]);
    const { bytes } = await files.get("both");
    expect(bytes.equals(a) || bytes.equals(b)).toBe(true);
  });

  it("is replaced under If-Match only by who has seen it as it is, of many at once by one", async () => {
    const { etag } = await files.put("agreed", "first");
    expect(etag).toBe((await files.stat("agreed")).etag);
    const attempt = (body: string, match: string) =>
      files.raw("PUT", { path: "agreed" }, body, { "if-match": match });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => attempt(`by ${i}`, `"${etag}"`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(412)]);
    const winner = answers.findIndex(({ status }) => status === 201);
    const { bytes, headers } = await files.get("agreed");
    expect(bytes.toString()).toBe(`by ${winner}`);
    expect(headers.etag).toBe(answers[winner]!.headers.etag);
    expect(answers.find(({ status }) => status === 412)!.problem.code).toBe("ETAG_MISMATCH");
    expect((await attempt("any", "*")).status).toBe(201);
    const absent = await files.raw("PUT", { path: "absent" }, "x", { "if-match": "*" });
    expect(absent.problem).toMatchObject({ status: 412, code: "ETAG_MISMATCH" });
    expect(await names()).not.toContain("absent");
    for (const [query, match] of [
      [{ path: "agreed" }, "unquoted"],
      [{ path: ".", extract: true }, `"${etag}"`],
    ] as const)
      expect((await files.raw("PUT", query, "x", { "if-match": match })).problem.code).toBe(
        "VALIDATION_FAILED",
      );
    expect((await attempt("x", '"nonsense"')).status).toBe(412);
  });

  it("fails a read whose file becomes shorter, instead of giving less", async () => {
    await files.put("shrinks", Buffer.alloc(50 * MB));
    const response = await new Promise<http.IncomingMessage>((resolve) =>
      http.get(files.url({ path: "shrinks" }), { headers: files.headers }, (r) => resolve(r.pause())),
    );
    await client.run(session, `open("/session/shrinks", "r+b").truncate(100)`);
    const end = await new Promise<string>((resolve) => {
      response.on("error", () => resolve("cut")).on("end", () => resolve("end"));
      response.resume();
    });
    expect(end).toBe("cut");
  });

  it("keeps an unknown or used grant from everybody", async () => {
    for (const grant of ["grt_short", `grt_${"A".repeat(43)}`]) {
      for (const method of ["GET", "PUT"] as const) {
        const answer = await client.call(
          method,
          `/agent/transfers/${grant}`,
          method === "PUT" ? "{}" : undefined,
        );
        expect([method, grant, answer.status]).toEqual([method, grant, 404]);
      }
    }
  });

  it("cuts transfers when the daemon dies, and works again with the next one", async () => {
    const response = await new Promise<http.IncomingMessage>((resolve) =>
      http.get(files.url({ path: "large" }), { headers: files.headers }, (r) => resolve(r.pause())),
    );
    const upload = cutUpload("during", 100 * MB, 5 * MB);
    await sleep(100);
    await stack.killAgent();
    const end = await new Promise<string>((resolve) => {
      response.on("error", () => resolve("cut")).on("end", () => resolve("end"));
      response.resume();
    });
    expect(end).toBe("cut");
    await upload;
    await stack.startAgent();
    await eventually("files answer", 20_000, async () => (await files.get("old")).status === 200);
    await eventually(
      "no part is left",
      10_000,
      async () => !(await names()).some((name) => name.includes(".part")),
    );
    expect(await names()).not.toContain("during");
  });
});

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbar, type Session } from "@sandbar/sdk";
import { saveArtifact, uploadFile } from "@sandbar/sdk/node";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Fate, FaultProxy } from "../fixtures/fault-proxy.ts";
import { TcpProxy } from "../fixtures/tcp-proxy.ts";
import { useStack } from "../fixtures/use-stack.ts";

const RETRY = { baseMs: 20, maxMs: 100 };
const PATIENCE = { timeout: 20_000 };
const WAITS_FOR_GO = `runs += 1
print('under way', flush=True)
import os, time
while not os.path.exists('/session/go'): time.sleep(0.02)
runs`;

describe("the TypeScript client on a network that fails", () => {
  const { stack } = useStack();
  let direct: Sandbar;
  beforeAll(async () => {
    direct = new Sandbar({ url: stack.url, apiKey: stack.key });
  });

  describe("that is cut", () => {
    let proxy: TcpProxy;
    let near: Session;
    let far: Session;
    const folder = mkdtempSync(join(tmpdir(), "sandbar-cut-"));
    afterAll(() => rmSync(folder, { recursive: true }));
    beforeEach(async () => {
      proxy = new TcpProxy();
      await proxy.open(stack.url);
      const client = new Sandbar({ url: proxy.url, apiKey: stack.key, retry: RETRY });
      near = await client.session();
      far = await direct.getSession(near.id);
      await far.run("runs = 0");
    });
    afterEach(async () => {
      await far?.stop();
      await proxy?.close();
    });

    const newestStatus = async () => (await far.executions().page(undefined, 1)).data[0]?.status;

    it("a run without a stream is waited for again and has run once", async () => {
      const run = near.run(WAITS_FOR_GO);
      await expect.poll(newestStatus, PATIENCE).toBe("running");
      proxy.cut();
      proxy.mend();
      await far.files.write("go", "");
      expect(await run).toMatchObject({ status: "ok", text: "1", stdout: "under way\n" });
      expect((await far.run("runs")).text).toBe("1");
    });

    it("an abort that cannot reach the server says so; the code runs on and is found by its id", async () => {
      const abort = new AbortController();
      const run = near.run(WAITS_FOR_GO, {
        signal: abort.signal,
        onStdout: () => {
          proxy.cut();
          abort.abort();
        },
      });
      const error = await run.catch((reason) => reason);
      expect(error).toMatchObject({ name: "AbortError", interrupted: false });
      expect(await far.execution(error.executionId)).toMatchObject({ status: "running" });
      await far.files.write("go", "");
      expect(await far.follow(error.executionId).finished()).toMatchObject({ status: "ok", text: "1" });
    });

    it("an abort during a short outage interrupts the code as soon as the network is back", async () => {
      const abort = new AbortController();
      const run = near.run(WAITS_FOR_GO, {
        signal: abort.signal,
        onStdout: () => {
          proxy.cut();
          abort.abort();
          setTimeout(() => proxy.mend(), RETRY.baseMs);
        },
      });
      const error = await run.catch((reason) => reason);
      expect(error).toMatchObject({ name: "AbortError", interrupted: true });
      await expect.poll(newestStatus, PATIENCE).toBe("interrupted");
    });

    it("a time limit holds while nobody is connected", async () => {
      const run = near.run(WAITS_FOR_GO, { timeoutS: 1, onStdout: () => proxy.cut() });
      await expect.poll(newestStatus, PATIENCE).toBe("timeout");
      proxy.mend();
      expect(await run).toMatchObject({ status: "timeout", state: { variables: "kept", files: "kept" } });
    });

    it("a file whose bytes are cut off is asked for again", async () => {
      await far.run("_ = open('/session/large', 'wb').write(bytes(8 << 20))");
      const answers: number[] = [];
      const cutting = new Sandbar({
        url: proxy.url,
        apiKey: stack.key,
        retry: RETRY,
        fetch: async (input, init) => {
          const response = await fetch(input, init);
          if (!String(input).includes("/files?")) return response;
          if (answers.push(response.status) === 1) {
            proxy.cut();
            proxy.mend();
          }
          return response;
        },
      });
      const session = await cutting.getSession(near.id);
      expect(await session.files.read("large")).toHaveLength(8 << 20);
      expect(answers).toEqual([200, 200]);
    });

    it("an upload from disk that is cut is sent again, and a refusal in its midst is told", async () => {
      const path = join(folder, "up");
      writeFileSync(path, new Uint8Array(4 << 20));
      let cuts = 0;
      const onProgress = () => {
        if (cuts++ > 0) return;
        proxy.cut();
        proxy.mend();
      };
      await uploadFile(near, path, "up", { onProgress });
      expect(await far.files.stat("up")).toMatchObject({ size: 4 << 20 });
      await expect(uploadFile(near, path, "/etc/up")).rejects.toMatchObject({ code: "PATH_NOT_PERMITTED" });
    });

    it("an artifact whose download is cut leaves no file, and the next try has it whole", async () => {
      const made = await far.run("_ = open('/session/artifacts/large', 'wb').write(bytes(8 << 20))");
      const client = new Sandbar({ url: proxy.url, apiKey: stack.key, retry: RETRY });
      const target = join(folder, "down/large");
      const onProgress = () => proxy.cut();
      await expect(
        saveArtifact(client.artifacts, made.artifacts[0]!, target, { onProgress }),
      ).rejects.toMatchObject({ code: "NETWORK_ERROR", retryable: true });
      expect(readdirSync(join(folder, "down"))).toEqual([]);
      proxy.mend();
      await saveArtifact(client.artifacts, made.artifacts[0]!, target);
      expect(readFileSync(target)).toHaveLength(8 << 20);
    });
  });

  describe("that loses answers", () => {
    let proxy: FaultProxy;
    let client: Sandbar;
    beforeEach(async () => {
      proxy = new FaultProxy();
      await proxy.open(stack.url);
      client = new Sandbar({ url: proxy.url, apiKey: stack.key, retry: RETRY });
    });
    afterEach(() => proxy?.close());

    /** The server does the first such request, and nobody hears of it. */
    function loseFirstAnswer(method: string, path: RegExp): void {
      let lost = false;
      proxy.fate = (request): Fate => {
        if (lost || request.method !== method || !path.test(request.path)) return "pass";
        lost = true;
        return "deafen";
      };
    }

    it("one session is made, one run is run and one process is started", async () => {
      loseFirstAnswer("POST", /\/sessions$/);
      await using session = await client.session({ labels: { made: "once" } });
      expect(await direct.sessions({ label: "made=once" }).all()).toHaveLength(1);

      loseFirstAnswer("POST", /\/executions$/);
      expect((await session.run("runs = globals().get('runs', 0) + 1; runs")).text).toBe("1");
      loseFirstAnswer("POST", /\/executions$/);
      const started = await session.start("runs += 1; runs");
      expect((await session.follow(started.id).finished()).text).toBe("2");

      loseFirstAnswer("POST", /\/processes$/);
      const { id } = await session.processes.start("sleep 300");
      expect((await session.processes.list()).map((process) => process.id)).toEqual([id]);

      loseFirstAnswer("DELETE", /\/sessions\//);
    });
  });
});

import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { Session } from "@sandbar/shared";
import { request } from "undici";
import { describe, expect, it } from "vitest";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const { stack, client } = useStack({
  vars: { MAX_SESSIONS_PER_TENANT: "3" },
  agentEnv: { SANDBAR_MAX_SESSIONS: "5", SANDBAR_MAX_MEMORY_MB: "2048", SANDBAR_MAX_PIDS: "300" },
});

const status = async (id: string) => (await client.ok<Session>("GET", `/v1/sessions/${id}`)).status;

describe("a session", () => {
  it("goes through its states: creating, ready, busy, ready, stopped", async () => {
    const answer = await client.call<Session>("POST", "/v1/sessions", {}, { prefer: "respond-async" });
    expect(answer.status).toBe(202);
    expect(answer.body.status).toBe("creating");
    const { id } = answer.body;
    await eventually("ready", 20_000, async () => (await status(id)) === "ready");
    const running = await client.start(id, "import time; time.sleep(600)", { timeout_s: 600 });
    await eventually("busy", 5000, async () => (await status(id)) === "busy");
    await client.ok("POST", `/v1/sessions/${id}/executions/${running.id}/interrupt`);
    await client.finished(id, running.id);
    expect(await status(id)).toBe("ready");
    await client.stop(id);
    expect(await status(id)).toBe("stopped");
    expect((await client.problem("POST", `/v1/sessions/${id}/executions`, { code: "1" })).body.code).toBe(
      "SESSION_ENDED",
    );
    expect((await client.stop(id)).status).toBe(204);
  });

  it("ends when it has been idle for its TTL, and not while it is used", async () => {
    const { id } = await client.create({ idle_ttl_s: 4 });
    const began = Date.now();
    while (Date.now() - began < 6000) {
      expect((await client.run(id, "1")).status).toBe("ok");
      await new Promise((done) => setTimeout(done, 500));
    }
    await client.run(id, "import time; time.sleep(6)");
    expect(await status(id)).toBe("ready");
    await eventually("the end", 10_000, async () => (await status(id)) === "stopped");
  });

  it.each(["upload", "download"])("does not grow idle under a slow %s", async (way) => {
    const { id } = await client.create({ idle_ttl_s: 2 });
    await client.run(id, `open("/session/large", "wb").truncate(50_000_000)`);
    const url = `${stack.url}/v1/sessions/${id}/files?path=large`;
    const headers = { authorization: `Bearer ${stack.key}` };
    async function* slowly() {
      for (let second = 0; second < 6; second++) {
        yield Buffer.from("x");
        await sleep(1000);
      }
    }
    if (way === "upload")
      expect((await request(url, { method: "PUT", headers, body: Readable.from(slowly()) })).statusCode).toBe(
        201,
      );
    else {
      const { body } = await request(url, { headers });
      let bytes = 0;
      const began = Date.now();
      for await (const chunk of body) {
        bytes += chunk.length;
        if (Date.now() - began < 6000) await sleep(100);
      }
      expect(bytes).toBe(50_000_000);
    }
    expect(await status(id)).toBe("ready");
    await eventually("the end", 10_000, async () => (await status(id)) === "stopped");
  });

  it("ends at its maximum lifetime, even while it works", async () => {
    const { id } = await client.create({ max_lifetime_s: 3 });
    const { id: execution } = await client.start(id, "import time\nwhile True: time.sleep(0.05)");
    await eventually("the end", 15_000, async () => (await status(id)) === "stopped");
    expect(await client.finished(id, execution)).toMatchObject({ error: { name: "SESSION_STOPPED" } });
  });

  it("leaves room when it ends: a tenant has as many as it may, exactly", async () => {
    const made = await Promise.all(
      Array.from({ length: 5 }, () => client.call<Session & { code: string }>("POST", "/v1/sessions", {})),
    );
    const sessions = made.filter((answer) => answer.status === 201);
    expect(sessions).toHaveLength(3);
    for (const answer of made.filter((other) => other.status !== 201))
      expect(answer.body.code).toBe("SESSION_LIMIT");
    // Another tenant has its own, as far as the host has room.
    const other = await stack.clientOf("other");
    const others = await Promise.all(
      Array.from({ length: 3 }, () => other.call<Session & { code: string }>("POST", "/v1/sessions", {})),
    );
    expect(others.map((answer) => answer.body.code ?? answer.body.status).sort()).toEqual([
      "NO_HOST_AVAILABLE",
      "ready",
      "ready",
    ]);
    await client.stop(sessions[0]!.body.id);
    const next = await client.create();
    for (const id of [...sessions.slice(1).map((answer) => answer.body.id), next.id]) await client.stop(id);
    for (const answer of others) if (answer.status === 201) await other.stop(answer.body.id);
  });
});

describe("limits", () => {
  it.each([
    [{ memory_mb: 4096 }, "limits.memory_mb may be at most 2048"],
    [{ pids: 301 }, "limits.pids may be at most 300"],
    [{ memory_mb: 512, tmpfs_mb: 300 }, "limits.tmpfs_mb may be at most 256"],
  ])("of %o are refused, and nothing is left of the attempt", async (limits, detail) => {
    const answer = await client.problem("POST", "/v1/sessions", { limits });
    expect(answer.status).toBe(422);
    expect(answer.body).toMatchObject({ code: "LIMIT_EXCEEDED", detail: expect.stringContaining(detail) });
    expect((await client.ok<{ sessions: number }>("GET", `/v1/hosts/${stack.hostId}`)).sessions).toBe(0);
  });

  it("hold inside: memory, processes, files in memory, open files", async () => {
    const { id } = await client.create({ limits: { memory_mb: 256, pids: 40, tmpfs_mb: 32 } });
    const code = `
import os, resource, subprocess
facts = [resource.getrlimit(resource.RLIMIT_NOFILE)]
try:
    with open("/session/big", "wb") as file:
        for _ in range(64): file.write(bytes(1 << 20))
except OSError as error:
    facts.append(error.strerror)
os.unlink("/session/big")
children = []
try:
    for _ in range(60): children.append(subprocess.Popen(["sleep", "60"]))
except OSError as error:
    facts.append(type(error).__name__)
for child in children: child.kill(); child.wait()
facts`;
    // Eight descriptors of the 4,096 are the kernel's reserve.
    expect((await client.run(id, code)).text).toBe(
      "[(4088, 16384), 'No space left on device', 'BlockingIOError']",
    );
    expect((await client.run(id, "x = bytearray(300 << 20)")).error?.name).toBe("OOM_KILLED");
    await client.stop(id);
  });
});

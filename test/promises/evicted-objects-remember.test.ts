import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LocalServer, startLocalServer } from "@sandbar/worker/local/server.ts";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Client } from "../fixtures/client.ts";
import { end, eventually, freePort, REPO, removeHost } from "../fixtures/stack.ts";

/** In this file the control plane runs inside the test, whose Miniflare handle can evict objects. */
describe("eviction of both objects in mid-cell", () => {
  const home = mkdtempSync(join(tmpdir(), "sandbar-test-"));
  let server: LocalServer;
  let client: Client;
  let agent: ChildProcess | null = null;
  let hostId = "";

  beforeAll(async () => {
    server = await startLocalServer({ home, host: "127.0.0.1", port: await freePort(), vars: {} });
    client = new Client({ url: server.url, key: readFileSync(server.keyFile, "utf8").trim() });
    const { token } = await client.ok<{ token: string }>("POST", "/v1/hosts/enrollments");
    const env = { ...process.env, SANDBAR_HOME: home, SANDBAR_URL: server.url, SANDBAR_POOL_SIZE: "0" };
    execFileSync(process.execPath, [join(REPO, "agent-host/src/main.ts"), "join", server.url, token], {
      env,
      stdio: "pipe",
    });
    hostId = JSON.parse(readFileSync(join(home, "host/identity.json"), "utf8")).host_id;
    agent = spawn(process.execPath, [join(REPO, "agent-host/src/main.ts"), "run"], { env, stdio: "ignore" });
    await eventually(
      "online",
      30_000,
      async () => (await client.ok<{ status: string }>("GET", `/v1/hosts/${hostId}`)).status === "online",
    );
  });
  afterAll(async () => {
    await end(agent, "SIGTERM");
    await client?.close();
    await server?.close();
    await removeHost(hostId, home);
  });

  for (const webSockets of ["hibernate", "close"] as const)
    it(`with the host's socket set to ${webSockets}: one start, every line, variables kept`, async () => {
      const { id } = await client.create();
      const started = await client.start(
        id,
        "import time\nopen('/session/starts', 'a').write('x')\nmark = 'kept'\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.1)",
      );
      await eventually("it runs", 10_000, async () => (await client.execution(id, started.id)).stdout !== "");
      await server.miniflare.unsafeEvictDurableObject("sandbar", "SessionObject", { name: `default/${id}` });
      await server.miniflare.unsafeEvictDurableObject("sandbar", "HostObject", { name: hostId, webSockets });
      expect(await client.finished(id, started.id)).toMatchObject({
        status: "ok",
        stdout: Array.from({ length: 30 }, (_, i) => `${i}\n`).join(""),
      });
      expect((await client.run(id, "print(open('/session/starts').read(), mark)")).stdout).toBe("x kept\n");
      await client.stop(id);
    });
});

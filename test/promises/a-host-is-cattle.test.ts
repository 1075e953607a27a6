import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { mountsBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import { describe, expect, it } from "vitest";
import { docker, eventually } from "../fixtures/stack.ts";
import { startStack } from "../fixtures/use-stack.ts";

describe("promise 6: hosts come and go", () => {
  it("without a host, create answers 503 with Retry-After and a hint", async () => {
    const { client } = await startStack({ withoutAgent: true });
    const { status, headers, body } = await client.problem("POST", "/v1/sessions", {});
    expect([status, body.code, body.retryable]).toEqual([503, "NO_HOST_AVAILABLE", true]);
    expect(Number(headers["retry-after"])).toBeGreaterThan(0);
    expect(body.hint).toBeTruthy();
  });

  it("unreachable, then lost: nothing started stays unanswered, and a host that returns is fenced", async () => {
    const { stack, client } = await startStack({
      vars: { HEARTBEAT_MS: "300", UNREACHABLE_MS: "1500", LOST_MS: "5000" },
    });
    const { id } = await client.create({ key: "doomed" });
    const started = await client.start(id, "import time; print('go', flush=True); time.sleep(60)");
    await eventually("it runs", 5000, async () => (await client.execution(id, started.id)).stdout === "go\n");
    await stack.killAgent("SIGKILL");
    await stack.waitForHost("unreachable", 10_000);
    const refused = await client.problem("POST", `/v1/sessions/${id}/executions`, { code: "1" });
    expect([refused.status, refused.body.code]).toEqual([503, "HOST_UNREACHABLE"]);
    await stack.waitForHost("lost", 15_000);
    expect(await client.finished(id, started.id, 5000)).toMatchObject({
      status: "unknown",
      error: { name: "OUTCOME_UNKNOWN" },
      state: { variables: "lost", files: "lost" },
    });
    expect((await client.ok<{ status: string }>("GET", `/v1/sessions/${id}`)).status).toBe("lost");
    await stack.startAgent();
    await eventually(
      "the lost session's container is gone",
      10_000,
      async () => (await stack.containers()).length === 0,
    );
    const again = await client.create({ key: "doomed" });
    expect(again.id).not.toBe(id);
    expect((await client.execution(id, started.id)).status).toBe("unknown");
  });

  it("a second daemon with the same host id takes over, the first ends and touches nothing", async () => {
    const { stack, client } = await startStack();
    const { id } = await client.create();
    await client.run(id, "x = 'from the first'");
    const first = stack.agentPid;
    const waiting = client.run(id, "import time; time.sleep(3); x");
    await new Promise((resolve) => setTimeout(resolve, 500));
    await stack.startAgent();
    expect(stack.agentPid).not.toBe(first);
    await eventually("the first daemon ended", 15_000, () => !alive(first));
    expect((await waiting).text).toBe("'from the first'");
    expect((await client.run(id, "x")).text).toBe("'from the first'");
  });

  it("a graceful restart of the daemon kills no session", async () => {
    const { stack, client } = await startStack();
    const { id } = await client.create();
    await client.run(id, "x = 5");
    await stack.killAgent("SIGTERM");
    expect(await stack.containers()).toHaveLength(1);
    await stack.startAgent();
    expect((await client.run(id, "x")).text).toBe("5");
  });

  it("an upgrade leaves sessions the kernels that their guest began with, and nothing when they have gone", async () => {
    const images = mkdtempSync(join(tmpdir(), "sandbar-images-"));
    try {
      cpSync(join(import.meta.dirname, "../../images"), images, { recursive: true });
      const { stack, client } = await startStack({
        agentEnv: { SANDBAR_IMAGES_DIR: images, SANDBAR_POOL_SIZE: "0" },
      });
      const old = await client.create();
      const upgraded = "import os; os.path.exists('/opt/sandbar/kernels/upgraded')";
      expect((await client.run(old.id, upgraded)).text).toBe("False");
      await stack.killAgent("SIGTERM");
      writeFileSync(join(images, "kernels/upgraded"), "");
      await stack.startAgent();
      const fresh = await client.create();
      expect((await client.run(fresh.id, upgraded)).text).toBe("True");
      expect((await client.run(old.id, upgraded)).text).toBe("False");
      const copies = join(stack.home, "runtime");
      expect(readdirSync(copies)).toHaveLength(2);
      await client.stop(old.id);
      await eventually("its container is gone", 10_000, async () => (await stack.containers()).length === 1);
      await stack.killAgent("SIGTERM");
      await stack.startAgent();
      expect((await client.run(fresh.id, upgraded)).text).toBe("True");
      expect(readdirSync(copies)).toHaveLength(1);
    } finally {
      rmSync(images, { recursive: true, force: true });
    }
  });

  it("joins again only when it was removed, and then as a new host that finds nothing of the old one", async () => {
    const { stack, client } = await startStack();
    const volumes = [{ name: "kept", path: "/v" }];
    const { id } = await client.create({ key: "k", volumes });
    await client.run(id, "open('/v/a', 'w').write('old')");
    const old = stack.hostId;
    await expect(stack.join()).rejects.toThrow(`belongs to ${old}`);
    expect(stack.hostId).toBe(old);
    expect((await client.run(id, "open('/v/a').read()")).text).toBe("'old'");

    await client.ok("DELETE", `/v1/hosts/${old}`);
    expect(await stack.agentEnded()).toBe(4);
    expect(await stack.containers()).toHaveLength(1);
    await stack.join();
    expect(stack.hostId).not.toBe(old);
    const label = [`sandbar.host=${old}`];
    expect(await docker.listContainers({ all: true, filters: { label } })).toEqual([]);
    expect(mountsBelow(stack.home)).toEqual([]);
    await stack.startAgent();
    await client.ok("DELETE", "/v1/volumes/kept");
    const anew = await client.create({ key: "k", volumes });
    expect(anew.id).not.toBe(id);
    expect((await client.run(anew.id, "import os; os.path.exists('/v/a')")).text).toBe("False");
    const aside = join(stack.home, `volumes/${old}.removed`);
    expect(readdirSync(aside, { recursive: true }).join()).toContain("kept");
  });

  it("never touches a container that is not its own", async () => {
    const foreign = await docker.createContainer({
      Image: "sandbar/python:latest",
      Cmd: ["sleep", "300"],
      Labels: { "sandbar.host": "hst_somebody_else", "sandbar.session": "ses_x" },
    });
    try {
      await foreign.start();
      const { stack } = await startStack();
      await stack.killAgent("SIGKILL");
      await stack.startAgent();
      expect((await foreign.inspect()).State.Running).toBe(true);
    } finally {
      await foreign.remove({ force: true });
    }
  });

  it("removes its own containers that no session knows", async () => {
    const { stack } = await startStack({ agentEnv: { SANDBAR_ORPHAN_AGE_MS: "1" } });
    await stack.killAgent("SIGKILL");
    const orphan = await docker.createContainer({
      Image: "sandbar/python:latest",
      Cmd: ["sleep", "300"],
      Labels: { "sandbar.host": stack.hostId, "sandbar.session": "ses_gone", "sandbar.box": "box_gone" },
    });
    await orphan.start();
    await stack.startAgent();
    await eventually("the orphan is gone", 10_000, async () => (await stack.containers()).length === 0);
  });
});

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { promisify } from "node:util";
import { mountsBelow } from "@sandbar/agent-host/src/docker/host-traces.ts";
import type { HostLoad, Session } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { docker, eventually, REPO } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const { stack, client } = useStack({ agentEnv: { SANDBAR_POOL_SIZE: "2", SANDBAR_POOL_MAX: "3" } });

/** A mount at a place of the caller's choice cannot come later. */
const COLD = { volumes: [{ name: "own", path: "/mnt/own" }] };

/** The warm containers, as the daemon's journal has them. */
function pooled(runtime = "python"): string[] {
  const db = new DatabaseSync(join(stack.home, "host/journal.sqlite"), { readOnly: true });
  try {
    return db
      .prepare("SELECT key, container FROM pool WHERE warm = 1 ORDER BY container")
      .all()
      .filter(({ key }) => JSON.parse(String(key)).runtime === runtime)
      .map(({ container }) => String(container));
  } finally {
    db.close();
  }
}

const warm = (runtime = "python", n = 2) =>
  eventually(`${n} warm ${runtime} boxes`, 30_000, () => pooled(runtime).length >= n);

describe("the warm pool", () => {
  it("fills itself with labelled containers that no session has", async () => {
    await warm();
    for (const id of pooled()) {
      const { Config } = await docker.getContainer(id).inspect();
      expect(Config.Labels).toMatchObject({ "sandbar.host": stack.hostId, "sandbar.pool": "1" });
      expect(Config.Labels["sandbar.session"]).toBeUndefined();
    }
    expect((await client.ok<{ sessions: number }>("GET", `/v1/hosts/${stack.hostId}`)).sessions).toBe(0);
  });

  it("is told, with how busy the machine is, by the host's load", async () => {
    await warm();
    const ask = () => client.ok<HostLoad>("GET", `/v1/hosts/${stack.hostId}/load`);
    await eventually("both can be claimed", 30_000, async () => (await ask()).pool[0]?.ready === 2);
    const { pool, ...machine } = await ask();
    expect(pool[0]).toEqual({ runtime: "python", ready: 2, wanted: 2 });
    expect(machine.memory_bytes).toBeGreaterThan(machine.memory_available_bytes);
    expect(machine.disk_bytes).toBeGreaterThan(machine.disk_available_bytes);
    const unknown = await client.problem("GET", `/v1/hosts/${stack.hostId.slice(0, -4)}0000/load`);
    expect([unknown.status, unknown.body.code]).toEqual([404, "NOT_FOUND"]);
  });

  it("gives a session one of its boxes, with that session's limits and environment", async () => {
    await warm();
    const before = pooled();
    const session = await client.create({
      env: { GREETING: "hello", HOME: "/tmp" },
      limits: { memory_mb: 300, cpus: 0.5, pids: 50, tmpfs_mb: 40 },
    });
    const container = await stack.containerOf(session.id);
    expect(before).toContain(container.id);
    expect(pooled()).not.toContain(container.id);
    const code = `
import os, shutil
read = lambda path: open(path).read().strip()
[os.environ["GREETING"], os.environ["HOME"], shutil.disk_usage("/session").total >> 20, shutil.disk_usage("/tmp").total >> 20,
 os.getcwd(), os.listdir("/session/artifacts")]`;
    expect((await client.run(session.id, code)).text?.replaceAll(/\s+/g, " ")).toBe(
      "['hello', '/tmp', 40, 40, '/session', []]",
    );
    // A kernel that comes later has them too.
    expect((await client.run(session.id, "echo $GREETING", { language: "bash" })).stdout).toBe("hello\n");
    await client.run(session.id, "import os; os._exit(1)");
    expect((await client.run(session.id, "import os; os.environ['GREETING']")).text).toBe("'hello'");
    await eventually("Docker's own word", 5000, async () => {
      const { HostConfig } = await container.inspect();
      return (
        HostConfig.Memory === 300 << 20 &&
        HostConfig.MemorySwap === 300 << 20 &&
        HostConfig.NanoCpus === 0.5e9 &&
        HostConfig.PidsLimit === 50
      );
    });
    const oom = await client.run(session.id, "x = bytearray(400 << 20)");
    expect(oom.error?.name).toBe("OOM_KILLED");
    await client.stop(session.id);
  });

  it("gives a bash session its environment too", async () => {
    const first = await client.create({ runtime: "bash" });
    await warm("bash", 1);
    const session = await client.create({ runtime: "bash", env: { GREETING: "hi" } });
    expect((await client.run(session.id, "echo $GREETING")).stdout).toBe("hi\n");
    expect(
      (await docker.getContainer((await stack.containerOf(session.id)).id).inspect()).Config.Labels,
    ).toHaveProperty("sandbar.pool");
    await Promise.all([first, session].map(({ id }) => client.stop(id)));
  });

  it("was there before it was asked for, unlike a box made from nothing", async () => {
    await warm();
    const before = (await stack.containers()).map(({ Id }) => Id);
    for (const [spec, wasThere] of [
      [{}, true],
      [COLD, false],
    ] as const) {
      const { id } = await client.create(spec);
      expect(before.includes((await stack.containerOf(id)).id)).toBe(wasThere);
      await client.stop(id);
    }
  });

  it("leaves to the cold way what it cannot give", async () => {
    const session = await client.create(COLD);
    const { Config } = await (await stack.containerOf(session.id)).inspect();
    expect(Config.Labels).toMatchObject({ "sandbar.session": session.id });
    await client.stop(session.id);
  });

  it("never gives one box to two sessions, and fills itself again", async () => {
    const boxes = new Set<string>();
    for (let round = 0; round < 2; round++) {
      await warm();
      const sessions = await Promise.all(Array.from({ length: 4 }, () => client.create()));
      await Promise.all(
        sessions.map(async ({ id }, index) => {
          await client.run(id, `open('/session/mine', 'x').write('${index}'); mine = ${index}`);
          expect((await client.run(id, "mine")).text).toBe(String(index));
          boxes.add((await stack.containerOf(id)).id);
        }),
      );
      await Promise.all(sessions.map(({ id }) => client.stop(id)));
    }
    expect(boxes.size).toBe(8);
  });

  it("is adopted by the next daemon after kill -9, and its boxes are as good as before", async () => {
    // Three by demand of the test before; nothing is being made any more.
    await warm("python", 3);
    const before = pooled();
    const epoch = async () => (await client.ok<{ epoch: number }>("GET", `/v1/hosts/${stack.hostId}`)).epoch;
    const first = await epoch();
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
    await eventually("the next daemon", 30_000, async () => (await epoch()) > first);
    await warm("python", 3);
    expect(pooled()).toEqual(before);
    const session = await client.create({ env: { AFTER: "restart" } });
    expect(before).toContain((await stack.containerOf(session.id)).id);
    expect((await client.run(session.id, "import os; os.environ['AFTER']")).text).toBe("'restart'");
    await client.stop(session.id);
  });

  it("replaces a box that dies", async () => {
    await warm();
    const [victim] = pooled();
    await docker.getContainer(victim!).kill();
    await eventually("another box", 30_000, () => {
      const now = pooled();
      return !now.includes(victim!) && now.length >= 2;
    });
    const session: Session = await client.create();
    expect((await client.run(session.id, "1 + 1")).text).toBe("2");
    await client.stop(session.id);
  });

  it("is emptied by a drain", async () => {
    await warm();
    await promisify(execFile)(process.execPath, [join(REPO, "agent-host/src/main.ts"), "drain"], {
      env: { ...process.env, SANDBAR_HOME: stack.home },
    });
    expect(await stack.containers()).toEqual([]);
    expect(pooled()).toEqual([]);
    expect(readdirSync(join(stack.home, "boxes"))).toEqual([]);
    expect(mountsBelow(stack.home)).toEqual([]);
  });
});

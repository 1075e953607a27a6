import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { STREAM_LIMIT_BYTES } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { DaemonProcess } from "./daemon-process.ts";
import { DockerProxy } from "./docker-proxy.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

const run = promisify(execFile);

let plane: FakeControlPlane;
let proxy: DockerProxy;
let daemon: DaemonProcess;

beforeAll(async () => {
  proxy = new DockerProxy();
  await proxy.up();
  plane = await FakeControlPlane.start();
  daemon = await DaemonProcess.start(plane, { DOCKER_HOST: `unix://${proxy.file}` });
});
afterAll(async () => {
  await daemon.cleanUp();
  await plane.close();
  await proxy.close();
});

function daemonMemoryMb(): number {
  const { pid } = JSON.parse(readFileSync(path.join(daemon.home, "host", "daemon.json"), "utf8"));
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) / 1024;
}

describe("nothing is unbounded", () => {
  it("100 MB of output are cut, counted, and cost the daemon little memory", async () => {
    const session = await daemon.createSession();
    const before = daemonMemoryMb();
    const execution = daemon.run(session, "for _ in range(100): print('x' * 1_048_575)", 60_000);
    const outcome = await daemon.outcome(execution, 60_000);
    expect(outcome.status).toBe("ok");
    expect(outcome.totals?.stdout).toBe(100 * 1024 * 1024);
    expect(outcome.stdout.length).toBeLessThanOrEqual(STREAM_LIMIT_BYTES);
    expect(daemonMemoryMb() - before).toBeLessThan(150);
    await daemon.stopSession(session);
  });

  it("a control plane that does not read slows its sandboxes, not the daemon, and loses nothing", async () => {
    const session = await daemon.createSession();
    const before = daemonMemoryMb();
    const chatter = "for i in range(400): print(str(i).rjust(10_000))";
    const expected = Array.from({ length: 400 }, (_, i) => `${String(i).padStart(10_000)}\n`).join("");
    const executions = Array.from({ length: 8 }, (_, i) => daemon.run(session, chatter, 60_000, `c${i}`));
    await plane.until("output", () => plane.execution(executions[0]!).events.length > 0);
    plane.socket!.pause();
    await sleep(4000);
    expect(daemonMemoryMb() - before).toBeLessThan(200);
    plane.socket!.resume();
    for (const execution of executions) {
      const outcome = await daemon.outcome(execution, 60_000);
      expect(outcome.status).toBe("ok");
      expect(outcome.stdout === expected).toBe(true);
    }
    await daemon.stopSession(session);
  });
});

describe("Docker", () => {
  it("may go away: cells run on, and a death in between is noticed afterwards", async () => {
    const session = await daemon.createSession();
    await proxy.down();
    expect((await daemon.outcome(daemon.run(session, "1 + 1"))).text).toBe("2");
    const execution = daemon.run(session, "import time\ntime.sleep(60)");
    await plane.until("a start", () => plane.execution(execution).events.length);
    await run("docker", ["kill", (await daemon.containers())[0]!]);
    await sleep(500);
    await proxy.up();
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "died",
      error: { name: "CONTAINER_DIED" },
    });
    await plane.until("the clean-up", async () => (await daemon.leftovers()).boxes.length === 0);
  });

  it("may be late: a daemon that starts first waits for it", async () => {
    const session = await daemon.createSession();
    await daemon.kill("SIGKILL");
    await proxy.down();
    const started = daemon.spawn();
    await sleep(1000);
    await proxy.up();
    await started;
    expect((await daemon.outcome(daemon.run(session, "1 + 1"))).text).toBe("2");
    await daemon.stopSession(session);
    expect(await daemon.leftovers()).toEqual({ containers: [], boxes: [], mounts: [] });
  });
});

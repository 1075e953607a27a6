import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { newId } from "@sandbar/shared";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DaemonProcess, SPEC } from "./daemon-process.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

const run = promisify(execFile);

let plane: FakeControlPlane;
let daemon: DaemonProcess;

beforeAll(async () => {
  plane = await FakeControlPlane.start();
  daemon = await DaemonProcess.start(plane, { SANDBAR_ORPHAN_AGE_MS: "1000" });
});
afterAll(async () => {
  await daemon.cleanUp();
  await plane.close();
});

const TICKS = "import time\nfor i in range(30):\n    print(i, flush=True)\n    time.sleep(0.05)\n'done'";
const ALL_TICKS = Array.from({ length: 30 }, (_, i) => `${i}\n`).join("");

describe("commands on a bad wire", () => {
  let session: string;
  beforeAll(async () => {
    session = await daemon.createSession();
  });
  afterAll(() => daemon.stopSession(session));

  it("take effect once and in order, though they come twice and backwards", async () => {
    const counter = "n = globals().get('n', 0) + 1\nn";
    const executions = Array.from({ length: 5 }, () => newId("exe"));
    const numbers = executions.map((execution) =>
      plane.command(
        session,
        {
          type: "run",
          execution,
          context: "main",
          language: "python",
          code: counter,
          env: {},
          stdin: null,
          timeout_ms: 9000,
        },
        false,
      ),
    );
    for (const n of [...numbers.toReversed(), ...numbers, ...numbers]) plane.sendCommand(n);
    const texts = [];
    for (const execution of executions) texts.push((await daemon.outcome(execution)).text);
    expect(texts).toEqual(["1", "2", "3", "4", "5"]);
    await plane.until("acks", () => plane.frames.some((f) => f.t === "ack" && f.n === Math.max(...numbers)));
  });

  it("do nothing more when only their content is a repetition", async () => {
    const execution = newId("exe");
    const command = {
      type: "run",
      execution,
      context: "main",
      language: "python",
      code: "m = globals().get('m', 0) + 1\nm",
      env: {},
      stdin: null,
      timeout_ms: 9000,
    } as const;
    plane.command(session, command);
    plane.command(session, command);
    expect((await daemon.outcome(execution)).text).toBe("1");
    plane.command(session, command);
    plane.command(session, { type: "session.create", tenant: "test", context: "main", spec: SPEC });
    expect((await daemon.outcome(daemon.run(session, "m"))).text).toBe("1");
  });

  it("are asked for by a new connection when one stays away", async () => {
    const { welcomes } = plane;
    plane.command(session, { type: "interrupt", execution: "exe_none" }, false);
    const execution = daemon.run(session, "'after the gap'");
    expect((await daemon.outcome(execution)).text).toBe("'after the gap'");
    expect(plane.welcomes).toBe(welcomes + 1);
  });

  it("lose no output when the link is cut in mid-cell", async () => {
    const execution = daemon.run(session, TICKS);
    for (let i = 0; i < 3; i++) {
      await plane.until("output", () => plane.execution(execution).events.length > 4 + i * 5);
      plane.cut();
    }
    const outcome = await daemon.outcome(execution);
    expect(outcome).toMatchObject({ status: "ok", stdout: ALL_TICKS, text: "'done'" });
  });

  it("are sent again, whole, however often one gap is complained of", async () => {
    const session = await daemon.createSession();
    plane.acks = false;
    const execution = daemon.run(session, TICKS);
    const complain = () => {
      for (let i = 0; i < 10; i++) plane.send({ t: "resend", session, execution, seq: 0 });
    };
    await plane.until("a first report", () => plane.execution(execution).reports > 0);
    complain();
    await plane.until("the outcome", () => plane.execution(execution).outcomes > 0);
    complain();
    plane.acks = true;
    complain();
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "ok",
      stdout: ALL_TICKS,
      text: "'done'",
    });
    await daemon.stopSession(session);
  });

  describe("wanted again while the guest stands still", () => {
    let session: string;
    let container: string;
    let execution: string;
    /** Process 1 of the box, from outside: inside nobody can stop it. */
    const signal = async (name: NodeJS.Signals) => {
      const { stdout } = await run("docker", ["inspect", "-f", "{{.State.Pid}}", container]);
      process.kill(Number(stdout), name);
    };
    beforeEach(async () => {
      session = await daemon.createSession();
      [container] = (await daemon.containers()) as [string];
      plane.acks = false;
      execution = daemon.run(session, "print('kept')");
      await plane.until("the outcome", () => plane.execution(execution).outcomes > 0);
      await signal("SIGSTOP");
    });

    it("come whole once it goes on, however often the link was cut meanwhile", async () => {
      for (let cut = 0; cut < 8; cut++) {
        const { welcomes } = plane;
        plane.send({ t: "resend", session, execution, seq: 0 });
        // Answered after that, so the daemon has it when the link is cut.
        const id = newId("req");
        plane.send({ t: "call", id, session, method: "none", params: {} });
        await plane.until("an answer", () => plane.frames.some((f) => f.t === "answer" && f.id === id));
        plane.cut();
        await plane.until("a welcome", () => plane.welcomes > welcomes);
      }
      await signal("SIGCONT");
      plane.acks = true;
      plane.send({ t: "resend", session, execution, seq: 0 });
      expect(await daemon.outcome(execution)).toMatchObject({ status: "ok", stdout: "kept\n" });
      await daemon.stopSession(session);
    });

    it("are done without when the container dies, and the outcome stands", async () => {
      plane.send({ t: "resend", session, execution, seq: 0 });
      plane.acks = true;
      await run("docker", ["kill", container]);
      await plane.until("the death", () => plane.sessions.get(session)?.state === "died");
      expect(plane.execution(execution).outcome).toMatchObject({ status: "ok", last_seq: null });
    });
  });

  it("report an outcome until it is acknowledged", async () => {
    plane.acks = false;
    const execution = daemon.run(session, "print('once')");
    await plane.until("a report", () => plane.execution(execution).outcomes === 1);
    plane.acks = true;
    plane.cut();
    expect(await daemon.outcome(execution)).toMatchObject({ status: "ok", stdout: "once\n" });
    const { outcomes } = plane.execution(execution);
    plane.cut();
    await plane.until("a welcome", () => plane.socket !== null);
    await daemon.outcome(daemon.run(session, "1"));
    expect(plane.execution(execution).outcomes).toBe(outcomes);
  });
});

describe("a daemon that dies", () => {
  it("in mid-cell: the cell finishes, with one outcome, all output, and its variables", async () => {
    const session = await daemon.createSession();
    await daemon.outcome(daemon.run(session, "before = 'kept'"));
    const execution = daemon.run(session, TICKS);
    const waiting = daemon.run(session, "before");
    await plane.until("output", () => plane.execution(execution).events.length > 3);
    await daemon.kill("SIGKILL");
    await sleep(300);
    await daemon.spawn();
    expect(plane.inventory).toMatchObject([{ session, report: { state: "ready" } }]);
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "ok",
      stdout: ALL_TICKS,
      text: "'done'",
    });
    expect((await daemon.outcome(waiting)).text).toBe("'kept'");
    expect(plane.execution(execution).outcomes).toBe(1);
    await daemon.stopSession(session);
  });

  it("and misses the end: it is told when the next one comes", async () => {
    const session = await daemon.createSession();
    const execution = daemon.run(session, "import time\ntime.sleep(0.5)\nprint('done meanwhile')");
    await plane.until("a start", () => plane.execution(execution).events.length);
    await daemon.kill("SIGKILL");
    await sleep(1000);
    await daemon.spawn();
    expect(await daemon.outcome(execution)).toMatchObject({ status: "ok", stdout: "done meanwhile\n" });
    await daemon.stopSession(session);
  });

  it("keeps time: a cell whose deadline passed meanwhile is ended by the next one", async () => {
    const session = await daemon.createSession();
    const execution = daemon.run(session, "import time\ntime.sleep(60)", 1500);
    await plane.until("a start", () => plane.execution(execution).events.length);
    await daemon.kill("SIGKILL");
    await sleep(1500);
    await daemon.spawn();
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "timeout",
      state: { variables: "kept" },
    });
    await daemon.stopSession(session);
  });

  it("while a session is being created: the next one finishes it", async () => {
    const session = newId("ses");
    const n = plane.command(session, { type: "session.create", tenant: "t", context: "main", spec: SPEC });
    await plane.until("an ack", () => plane.frames.some((f) => f.t === "ack" && f.n >= n));
    await sleep(200);
    await daemon.kill("SIGKILL");
    await daemon.spawn();
    await plane.until("ready", () => plane.sessions.get(session)?.state === "ready", 30_000);
    expect(await daemon.containers()).toHaveLength(1);
    expect((await daemon.outcome(daemon.run(session, "1 + 1"))).text).toBe("2");
    await daemon.stopSession(session);
  });

  it("while the container dies too: the next one says so", async () => {
    const session = await daemon.createSession();
    const execution = daemon.run(session, "import time\ntime.sleep(60)");
    await plane.until("a start", () => plane.execution(execution).events.length);
    await daemon.kill("SIGKILL");
    await run("docker", ["kill", (await daemon.containers())[0]!]);
    await daemon.spawn();
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "died",
      error: { name: "CONTAINER_DIED" },
    });
    await plane.until("the death", () => plane.sessions.get(session)?.state === "died");
    await plane.until("the clean-up", async () => (await daemon.leftovers()).boxes.length === 0);
  });

  it("politely: a restart is not a death", async () => {
    const session = await daemon.createSession();
    await daemon.outcome(daemon.run(session, "v = 'kept'"));
    expect(await daemon.kill("SIGTERM")).toBe(0);
    expect(await daemon.containers()).toHaveLength(1);
    await daemon.spawn();
    expect((await daemon.outcome(daemon.run(session, "v"))).text).toBe("'kept'");
    await daemon.stopSession(session);
  });
});

describe("the newest daemon", () => {
  it("of a home makes the older one go, and takes over its sessions", async () => {
    const session = await daemon.createSession();
    await daemon.outcome(daemon.run(session, "w = 'kept'"));
    const execution = daemon.run(session, TICKS);
    await plane.until("output", () => plane.execution(execution).events.length > 3);
    const old = daemon.exitCode();
    await daemon.spawn();
    expect(await old).toBe(0);
    expect(await daemon.outcome(execution)).toMatchObject({ status: "ok", stdout: ALL_TICKS });
    expect((await daemon.outcome(daemon.run(session, "w"))).text).toBe("'kept'");
    await daemon.stopSession(session);
  });

  it("of a host id wins: the superseded one exits with 3 and leaves its containers alone", async () => {
    const session = await daemon.createSession();
    plane.supersede();
    expect(await daemon.exitCode()).toBe(3);
    expect(await daemon.containers()).toHaveLength(1);
    await daemon.spawn();
    expect((await daemon.outcome(daemon.run(session, "1 + 1"))).text).toBe("2");
    await daemon.stopSession(session);
  });
});

describe("draining", () => {
  it("stops every session, with a daemon or without one, and the control plane hears of it", async () => {
    for (const running of [true, false]) {
      const session = await daemon.createSession();
      const execution = daemon.run(session, "import time\ntime.sleep(60)");
      await plane.until("a start", () => plane.execution(execution).events.length);
      if (!running) await daemon.kill("SIGKILL");
      await daemon.command("drain");
      expect(await daemon.leftovers()).toEqual({ containers: [], boxes: [], mounts: [] });
      await daemon.kill("SIGTERM");
      await daemon.spawn();
      expect((await daemon.outcome(execution)).error?.name).toBe("SESSION_STOPPED");
      await plane.until("stopped", () => plane.sessions.get(session)?.state === "stopped");
    }
  });
});

describe("reconciling", () => {
  it("removes its own orphans and never touches a foreign container", async () => {
    await daemon.kill("SIGKILL");
    const create = async (host: string) => {
      const label = `sandbar.host=${host}`;
      const { stdout } = await run("docker", [
        "run",
        "-d",
        "--network",
        "none",
        "--label",
        label,
        "sandbar/python:latest",
        "sleep",
        "300",
      ]);
      return stdout.trim();
    };
    const [own, foreign] = await Promise.all([create(plane.hostId), create("hst_somebody_else")]);
    try {
      await sleep(1100);
      await daemon.spawn();
      await plane.until("the orphan's end", async () => !(await daemon.containers()).includes(own!));
      const { stdout } = await run("docker", ["inspect", "-f", "{{.State.Running}}", foreign!]);
      expect(stdout.trim()).toBe("true");
      expect(await daemon.leftovers()).toEqual({ containers: [], boxes: [], mounts: [] });
    } finally {
      await run("docker", ["rm", "-f", foreign!]);
    }
  });
});

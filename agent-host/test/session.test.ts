import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { newId } from "@sandbar/shared";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { DaemonProcess, SPEC } from "./daemon-process.ts";
import { FakeControlPlane } from "./fake-control-plane.ts";

const run = promisify(execFile);
const EMPTY = { containers: [], boxes: [], mounts: [] };

let plane: FakeControlPlane;
let daemon: DaemonProcess;
let root: string;

// One test's failure is not the next one's.
async function stopAll(): Promise<void> {
  for (const [id, { state }] of plane.sessions) if (state === "ready") await daemon.stopSession(id);
}

beforeAll(async () => {
  root = mkdtempSync(path.join(tmpdir(), "sandbar-roots-"));
  mkdirSync(path.join(root, "datasets"));
  writeFileSync(path.join(root, "datasets", "table.csv"), "a,b\n1,2\n");
  plane = await FakeControlPlane.start();
  daemon = await DaemonProcess.start(plane, {
    SESSIONS_ROOT: path.join(root, "sessions"),
    DATASETS_HOST_RO: path.join(root, "datasets"),
    SANDBAR_MAX_SESSIONS: "4",
    SANDBAR_INTERRUPT_GRACE_MS: "700",
  });
});
afterAll(async () => {
  await daemon.cleanUp();
  await plane.close();
  rmSync(root, { recursive: true, force: true });
});

describe("a session on a host", () => {
  afterEach(stopAll);

  it("says what it can do, proves who it is, and runs code that keeps its state", async () => {
    expect(plane.capacity).toMatchObject({
      max_sessions: 4,
      default_limits: { memory_mb: 1024, max_timeout_s: 86_400 },
    });
    expect(plane.capacity?.runtimes).toContain("python");
    const session = await daemon.createSession({ env: { GREETING: "hello" } });
    expect(plane.sessions.get(session)).toMatchObject({ state: "ready", image: "sandbar/python:latest" });
    const steps = plane.frames.filter((f) => f.t === "progress" && f.session === session);
    expect(steps.map((f) => f.t === "progress" && f.step)).toEqual([
      "prepare",
      "container",
      "start",
      "kernel",
    ]);

    await daemon.outcome(daemon.run(session, "x = 41"));
    const execution = daemon.run(session, "import os\nprint(os.environ['GREETING'])\nx + 1");
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "ok",
      error: null,
      stdout: "hello\n",
      text: "42",
    });
    expect(plane.execution(execution).outcomes).toBe(1);

    await daemon.stopSession(session);
    expect(await daemon.leftovers()).toEqual(EMPTY);
  });

  it("is hardened", async () => {
    const session = await daemon.createSession({ limits: { ...SPEC.limits, pids: 77 } });
    const { stdout } = await run("docker", ["inspect", (await daemon.containers())[0]!]);
    const [{ Config: config, HostConfig: host }] = JSON.parse(stdout);
    expect(config.User).toMatch(/^1\d{6}:65532$/);
    expect(config.Labels).toMatchObject({ "sandbar.host": plane.hostId, "sandbar.session": session });
    expect(host).toMatchObject({
      ReadonlyRootfs: true,
      CapDrop: ["ALL"],
      PidsLimit: 77,
      Memory: 512 * 1024 * 1024,
      MemorySwap: 512 * 1024 * 1024,
      NanoCpus: 1e9,
      NetworkMode: "none",
      IpcMode: "private",
      Privileged: false,
      LogConfig: { Type: "none" },
    });
    expect(host.SecurityOpt[0]).toBe("no-new-privileges");
    expect(host.SecurityOpt[1]).toMatch(/^seccomp=\{/);
    const code = `
import os, shutil, socket
facts = [os.getuid(), shutil.disk_usage("/session").total // 2**20, sorted(os.listdir("/sys/class/net"))]
for path in ["/x", "/opt/sandbar/guest/x", "/run/sandbar/x"]:
    try:
        open(path, "w")
    except OSError as error:
        facts.append(error.strerror)
facts`;
    const outcome = await daemon.outcome(daemon.run(session, code));
    expect(outcome.text).toMatch(/^\[1\d{6},\s+64,\s+\['lo'\](,\s+'Read-only file system'){3}\]$/);
    await daemon.stopSession(session);
  });

  it("keeps a BIND folder, shows local datasets read-only", async () => {
    const session = await daemon.createSession({ storage: "BIND", dataset_access: "LOCAL_RO" });
    const code = "open('/session/kept.txt', 'w').write(open('/data/table.csv').read())";
    expect(await daemon.outcome(daemon.run(session, code))).toMatchObject({ status: "ok" });
    const write = await daemon.outcome(daemon.run(session, "open('/data/x', 'w')"));
    expect(write.status).toBe("error");
    await daemon.stopSession(session);
    expect(readFileSync(path.join(root, "sessions", session, "kept.txt"), "utf8")).toBe("a,b\n1,2\n");
    expect(await daemon.leftovers()).toEqual(EMPTY);
  });

  it("answers questions, and says when it cannot", async () => {
    const session = await daemon.createSession();
    await daemon.outcome(daemon.run(session, "answer = 42"));
    const ask = async (method: string, of = session) => {
      const id = newId("req");
      plane.send({ t: "call", id, session: of, method, params: { context: "main" } });
      return plane.until("an answer", () => plane.frames.find((f) => f.t === "answer" && f.id === id));
    };
    expect(JSON.stringify(await ask("state"))).toContain('"answer"');
    expect(await ask("frobnicate")).toMatchObject({ failure: { code: "HOST_ERROR" } });
    expect(await ask("state", "ses_none")).toMatchObject({ failure: { code: "NOT_FOUND" } });
    await daemon.stopSession(session);
  });

  it.each([
    [{ image: "sandbar/none:latest" }, "IMAGE_NOT_FOUND"],
    [{ image: "debian:latest" }, "IMAGE_NOT_ALLOWED"],
    [{ image: "sandbar/base:trixie" }, "IMAGE_UNSUPPORTED"],
    [{ limits: { ...SPEC.limits, memory_mb: 1_000_000 } }, "LIMIT_EXCEEDED"],
  ])("fails clearly with %o", async (spec, code) => {
    const session = newId("ses");
    plane.command(session, {
      type: "session.create",
      tenant: "t",
      context: "main",
      spec: { ...SPEC, ...spec },
    });
    const report = await plane.until("a failure", () => plane.sessions.get(session));
    expect(report).toMatchObject({ state: "failed", failure: { code } });
    expect(await daemon.leftovers()).toEqual(EMPTY);
  });

  it("stops while it is being created, and while code runs", async () => {
    const young = newId("ses");
    plane.command(young, { type: "session.create", tenant: "t", context: "main", spec: SPEC });
    await daemon.stopSession(young);
    expect(plane.frames.filter((f) => f.t === "session" && f.session === young)).toHaveLength(1);

    const session = await daemon.createSession();
    const execution = daemon.run(session, "import time\nwhile True: time.sleep(0.1)");
    const waiting = daemon.run(session, "print('never')");
    await plane.until("a start", () => plane.execution(execution).events.length);
    await daemon.stopSession(session);
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "died",
      error: { name: "SESSION_STOPPED" },
      state: { variables: "lost", files: "lost" },
    });
    expect((await daemon.outcome(waiting)).error?.name).toBe("SESSION_STOPPED");
    expect(await daemon.leftovers()).toEqual(EMPTY);
    expect((await daemon.outcome(daemon.run(session, "1"))).error?.name).toBe("CONTAINER_DIED");
  });

  it("has no more neighbours than the host allows, and one slow start holds up nobody", async () => {
    const session = await daemon.createSession();
    const others = [newId("ses"), newId("ses"), newId("ses"), newId("ses")];
    for (const id of others)
      plane.command(id, { type: "session.create", tenant: "t", context: "main", spec: SPEC });
    const before = plane.frames.length;
    const outcome = await daemon.outcome(daemon.run(session, "1 + 1"));
    expect(outcome.text).toBe("2");
    expect(plane.frames.slice(0, before).some((f) => f.t === "session" && f.session === others[0])).toBe(
      false,
    );
    expect(plane.sessions.get(others[3]!)).toMatchObject({
      state: "failed",
      failure: { code: "NO_HOST_AVAILABLE" },
    });
    for (const id of [session, ...others.slice(0, 3)]) await daemon.stopSession(id);
    expect(await daemon.leftovers()).toEqual(EMPTY);
    expect(existsSync(path.join(daemon.home, "host", "identity.json"))).toBe(true);
  });
});

describe("code that does not end well", () => {
  let session: string;
  beforeAll(async () => {
    session = await daemon.createSession();
  });

  it("keeps its variables when it yields to the timeout", async () => {
    await daemon.outcome(daemon.run(session, "y = 7"));
    const outcome = await daemon.outcome(daemon.run(session, "import time\ntime.sleep(60)", 400));
    expect(outcome).toMatchObject({
      status: "timeout",
      error: { name: "EXECUTION_TIMEOUT" },
      state: { variables: "kept", files: "kept" },
    });
    expect((await daemon.outcome(daemon.run(session, "y"))).text).toBe("7");
  });

  it("is refused with a time limit above the host's maximum, rather than given a shorter one", async () => {
    const outcome = await daemon.outcome(daemon.run(session, "z = 1", 86_400_001));
    expect(outcome).toMatchObject({
      status: "error",
      error: { name: "LIMIT_EXCEEDED", value: expect.stringContaining("maximum of 86400") },
      state: { variables: "kept", files: "kept" },
      started_at: null,
    });
    expect((await daemon.outcome(daemon.run(session, "'z' in globals()"))).text).toBe("False");
  });

  it("is killed when it swallows the interrupt, and the session lives on", async () => {
    const stubborn = "while True:\n    try:\n        while True: pass\n    except BaseException: pass";
    const outcome = await daemon.outcome(daemon.run(session, stubborn, 300));
    expect(outcome).toMatchObject({ status: "timeout", state: { variables: "lost", files: "kept" } });
    expect((await daemon.outcome(daemon.run(session, "1 + 1"))).text).toBe("2");
  });

  it("is interrupted on request, running or waiting", async () => {
    const running = daemon.run(session, "import time\ntime.sleep(60)");
    const waiting = daemon.run(session, "print('never')");
    await plane.until("a start", () => plane.execution(running).events.length);
    plane.command(session, { type: "interrupt", execution: waiting });
    expect(await daemon.outcome(waiting)).toMatchObject({
      status: "interrupted",
      started_at: null,
      last_seq: 0,
    });
    plane.command(session, { type: "interrupt", execution: running });
    expect(await daemon.outcome(running)).toMatchObject({
      status: "interrupted",
      error: { name: "INTERRUPTED" },
      state: { variables: "kept" },
    });
  });

  it.each([
    ["import os; os._exit(3)", "KERNEL_DIED", "exit code 3"],
    ["import ctypes; ctypes.string_at(0)", "KERNEL_DIED", "segmentation fault (SIGSEGV)"],
    ["x = bytearray(2 * 1024 ** 3)", "OOM_KILLED", "memory"],
  ])("tells how its kernel died: %s", async (code, name, value) => {
    await daemon.outcome(daemon.run(session, "open('/session/f', 'w').write('kept')"));
    const outcome = await daemon.outcome(daemon.run(session, code));
    expect(outcome).toMatchObject({
      status: "died",
      error: { name },
      state: { variables: "lost", files: "kept" },
    });
    expect(outcome.error?.value).toContain(value);
    expect((await daemon.outcome(daemon.run(session, "open('/session/f').read()"))).text).toBe("'kept'");
  });

  it("runs in parallel contexts, which can be restarted and closed", async () => {
    const waiting = "import os, time\nwhile not os.path.exists('/session/go'): time.sleep(0.01)\n'slow'";
    const slow = daemon.run(session, waiting, 20_000, "main");
    const quick = daemon.run(session, "z = 'quick'\nz", 20_000, "other");
    expect((await daemon.outcome(quick)).text).toBe("'quick'");
    expect(plane.executions.get(slow)?.outcome).toBeFalsy();
    daemon.run(session, "open('/session/go', 'w').close()", 20_000, "other");
    expect((await daemon.outcome(slow)).text).toBe("'slow'");
    const endless = daemon.run(session, "import time\ntime.sleep(60)", 60_000, "other");
    await plane.until("a start", () => plane.execution(endless).events.length);
    plane.command(session, { type: "context.restart", context: "other" });
    expect(await daemon.outcome(endless)).toMatchObject({ status: "died", error: { name: "KERNEL_DIED" } });
    expect((await daemon.outcome(daemon.run(session, "'z' in globals()", 20_000, "other"))).text).toBe(
      "False",
    );
    plane.command(session, { type: "context.restart", context: "other" });
    expect(await daemon.outcome(daemon.run(session, "'fresh'", 20_000, "other"))).toMatchObject({
      status: "ok",
      text: "'fresh'",
    });
    plane.command(session, { type: "context.close", context: "other" });
    expect((await daemon.outcome(daemon.run(session, "'again'", 20_000, "other"))).text).toBe("'again'");
  });

  it("takes the session with it when the container dies", async () => {
    const execution = daemon.run(session, "import time\nprint('last words', flush=True)\ntime.sleep(60)");
    await plane.until("output", () => daemon.stdout(execution));
    await run("docker", ["kill", (await daemon.containers())[0]!]);
    expect(await daemon.outcome(execution)).toMatchObject({
      status: "died",
      error: { name: "CONTAINER_DIED", value: expect.stringContaining("SIGKILL") },
      state: { variables: "lost", files: "lost" },
      stdout: "last words\n",
    });
    await plane.until("the death", () => plane.sessions.get(session)?.state === "died");
    await plane.until("the clean-up", async () => (await daemon.leftovers()).boxes.length === 0);
    expect((await daemon.containers()).length).toBe(0);
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox, sleep } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start();
  await box.run("alive = 1");
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

/** The cell ends as told, and the next one in the same kernel works. */
async function breaksOnlyItself(code: string) {
  const ran = await box.run(code);
  const next = await box.run("print('fine'); 6 * 7");
  expect(next.stdout).toBe("fine\n");
  expect(next.results).toEqual([{ "text/plain": "42" }]);
  expect(next.done.status).toBe("ok");
  return ran;
}

const PATIENT = { timeout: 20_000 };
const processes = () => box.exec("ps", "-eo", "args").split("\n");

describe("code that breaks only itself", () => {
  it.each([
    [
      "patches json",
      "import json\njson.dumps = json.loads = lambda *a, **k: '{}'\njson.JSONEncoder.encode = None\njson.encoder.c_make_encoder = None\nalive",
    ],
    [
      "patches print and builtins",
      "import builtins\nbuiltins.repr = None\nbuiltins.input = None\nbuiltins.len_ = len\nprint = None\ndel print\nalive",
    ],
    ["replaces sys.stdout", "import sys\nsys.stdout = None\nsys.stderr = 5"],
    ["closes sys.stdout", "import sys\nsys.stdout.close()\nsys.stderr.close()\nsys.stdin.close()"],
    ["closes descriptors 0, 1 and 2", "import os\nfor fd in (0, 1, 2): os.close(fd)"],
    [
      "plays with dup2",
      "import os\nfd = os.open('/session/f', os.O_CREAT | os.O_WRONLY)\nos.dup2(fd, 1); os.dup2(fd, 2); print('into the file')",
    ],
    [
      "patches os and socket",
      "import os, socket\nos.write = os.read = os.dup2 = os.close = os.getpid = None\nsocket.socket = None\nimport importlib; importlib.reload(os)",
    ],
    ["ignores SIGINT", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)"],
    ["sets a trace function", "import sys; sys.settrace(lambda *a: None); sys.setrecursionlimit(200)"],
    ["recurses too deep", "def f(): return f()\nf()"],
  ])("%s", async (_name, code) => {
    await breaksOnlyItself(code);
    expect((await box.run("import os, sys; sys.setrecursionlimit(3000); alive")).results).toEqual([
      { "text/plain": "1" },
    ]);
  });

  it("forks: the child speaks only through the pipes", async () => {
    const ran = await breaksOnlyItself(
      "import os\npid = os.fork()\nif pid == 0:\n    print('child')\nelse:\n    os.waitpid(pid, 0); print('parent')\npid > 0",
    );
    expect(ran.stdout).toBe("child\nparent\n");
    expect(ran.results).toEqual([{ "text/plain": "True" }]);
    expect(ran.stderr).toBe("");
    const pool = await breaksOnlyItself(
      "import multiprocessing as mp\ndef sq(x):\n    print('w', x); return x * x\nwith mp.get_context('fork').Pool(2) as p: r = p.map(sq, [1, 2])\nr",
    );
    expect(pool.results).toEqual([{ "text/plain": "[1, 4]" }]);
  });

  it("forges messages on the control socket", async () => {
    await breaksOnlyItself(
      'import os\nfor fd in range(50, 1000):\n    try:\n        import stat\n        if stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b\'not json\\n{"op":"done","id":"other","status":"ok"}\\n[]\\n{"op":5}\\n{"op":"child"}\\n\')\n    except OSError: pass',
    );
  });

  it("leaves a daemon that holds the pipes", async () => {
    const ran = await breaksOnlyItself(
      "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(300)\n    os._exit(0)\nprint('started')",
    );
    expect(ran.stdout).toBe("started\n");
  });

  it("leaves a process that floods its old pipe", async () => {
    const mark = box.messages.length;
    await breaksOnlyItself("import subprocess; flood = subprocess.Popen(['yes'])");
    await sleep(500);
    expect(box.lateText(mark).length).toBeLessThan(600_000);
    expect((await box.run("flood.kill(); flood.wait()")).done.status).toBe("ok");
  });

  it("signals PID 1", async () => {
    await breaksOnlyItself(
      "import os, signal\nfor s in range(1, 65):\n    if s not in (32, 33):\n        try: os.kill(1, s)\n        except OSError: pass",
    );
  });

  it("cannot read the guest", async () => {
    const ran = await box.run("open('/proc/1/environ').read()");
    expect(ran.error?.name).toBe("PermissionError");
    expect((await box.run("open('/proc/1/mem','rb')")).error?.name).toBe("PermissionError");
  });
});

describe("a kernel that dies", () => {
  it.each([
    [
      "of a segfault",
      "import ctypes; print('before', flush=True); ctypes.string_at(0)",
      { signal: 11, exit_code: null },
    ],
    ["by os._exit", "import os; print('before'); os._exit(7)", { signal: null, exit_code: 7 }],
    [
      "by its own SIGKILL",
      "import os; print('before'); os.kill(os.getpid(), 9)",
      { signal: 9, exit_code: null },
    ],
    [
      "having closed every descriptor",
      "import os; print('before'); os.closerange(3, 5000); import time; time.sleep(60)",
      { signal: null, exit_code: 70 },
    ],
  ])("%s gives done with the reason and a fresh kernel", async (_name, code, exit) => {
    const mark = box.messages.length;
    const execution = box.start(code);
    if (code.includes("closerange")) {
      // Nothing is heard from it until it ends or the daemon's timeout kills it.
      await sleep(500);
      box.send({ type: "kill", execution });
      const ran = await box.finish(execution);
      expect(ran.done.status).toBe("died");
      return;
    }
    const ran = await box.finish(execution);
    expect(ran.stdout).toBe("before\n");
    expect(ran.done).toMatchObject({ status: "died", exit: { ...exit, oom: false } });
    const ready = await box.message("context", (m) => m.state === "ready", mark);
    expect(ready.lost).toBeNull();
    const next = await box.run("'alive' in globals()");
    expect(next.results).toEqual([{ "text/plain": "False" }]);
    // The one that died has said it.
    expect(next.done.lost).toBeUndefined();
  });

  it("of memory says so; files stay; a child that is the victim does not end the execution", async () => {
    await box.run("open('/session/kept', 'w').write('x')");
    const ran = await box.run("x = []\nwhile True: x.append(bytearray(10_000_000))");
    expect(ran.done).toMatchObject({ status: "died", exit: { signal: 9, oom: true } });
    expect((await box.run("open('/session/kept').read()")).results).toEqual([{ "text/plain": "'x'" }]);
    const child = await box.run(
      "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'x = []\\nwhile True: x.append(bytearray(10_000_000))']).returncode",
    );
    expect(child.results).toEqual([{ "text/plain": "-9" }]);
    const own = await box.run("import os; os.kill(os.getpid(), 9)");
    expect(own.done.exit).toMatchObject({ signal: 9, oom: false });
    // No execution says what became of other contexts: whoever dies long after the killer was here was not its victim.
    await box.run("1");
    await box.run("python3 -c 'x = []\nwhile True: x.append(bytearray(10_000_000))'", { language: "bash" });
    await box.run("sleep 1", { language: "bash" });
    const mark = box.messages.length;
    await box.run("kill -9 -1", { language: "bash" });
    await box.message("context", ({ context, lost }) => context === "python" && lost !== null, mark);
    expect((await box.run("1")).done.lost?.exit).toMatchObject({ signal: 9, oom: false });
  });

  it("is killed although it swallows the interrupt, ignores it, or stops itself", async () => {
    for (const code of [
      "import time\nwhile True:\n    try:\n        while True: time.sleep(0.01)\n    except BaseException: pass",
      "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(60)",
      "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)",
    ]) {
      const execution = box.start(`print('going', flush=True)\n${code}`);
      await box.until(() => box.eventsOf(execution).some((e) => e.type === "stdout"));
      box.send({ type: "interrupt", execution });
      await sleep(150);
      expect(box.eventsOf(execution).at(-1)?.type).not.toBe("done");
      box.send({ type: "kill", execution });
      const ran = await box.finish(execution);
      expect(ran.done).toMatchObject({ status: "died", exit: { signal: 9, oom: false } });
    }
    expect((await box.run("1")).done.status).toBe("ok");
  });

  it("takes every process of its context with it, and none of another", async () => {
    await box.run("import subprocess; subprocess.Popen(['sleep', '1111'])", { context: "bystander" });
    const execution = box.start(`
import os, subprocess, time, ctypes
subprocess.Popen(['sleep', '2001'])
subprocess.Popen(['sleep', '2002'], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execve('/bin/sleep', ['sleep', '2003'], {})
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        time.sleep(2004)
    os._exit(0)
time.sleep(0.2); print('spawned', flush=True); time.sleep(60)`);
    await box.until(() => box.eventsOf(execution).some((e) => e.type === "stdout"));
    await expect.poll(() => processes().filter((line) => /sleep 200/.test(line)).length, PATIENT).toBe(3);
    box.send({ type: "kill", execution });
    await box.finish(execution);
    await expect.poll(() => processes().filter((line) => /sleep 200/.test(line)), PATIENT).toEqual([]);
    expect(processes().filter((line) => /sleep 1111/.test(line)).length).toBe(1);
    box.send({ type: "context.close", context: "bystander" });
  });

  it("survives a fork bomb", async () => {
    const execution = box.start(
      "print('go', flush=True)\nimport os\nwhile True:\n    try: os.fork()\n    except OSError: pass",
    );
    await box.until(() => box.eventsOf(execution).some((e) => e.type === "stdout"));
    await sleep(300);
    box.send({ type: "kill", execution });
    const ran = await box.finish(execution);
    expect(ran.done.status).toBe("died");
    expect((await box.run("2")).results).toEqual([{ "text/plain": "2" }]);
    await expect.poll(() => box.exec("ps", "-e").split("\n").length, PATIENT).toBeLessThan(20);
  });

  it("dies while idle: the guest says so until an execution has", async () => {
    const mark = box.messages.length;
    await box.run("import threading, os\nthreading.Timer(0.1, lambda: os._exit(9)).start()");
    const { lost } = await box.message("context", (m) => m.state === "starting", mark);
    expect(lost).toMatchObject({ exit: { exit_code: 9 } });
    // Before the new one is ready.
    const next = await box.run("3");
    expect(next.results).toEqual([{ "text/plain": "3" }]);
    expect(next.done.lost).toEqual(lost);
    expect((await box.run("4")).done.lost).toBeUndefined();
  });

  it("reaps orphans", async () => {
    await box.run(
      "import os\nfor _ in range(5):\n    if os.fork() == 0:\n        if os.fork() == 0: os._exit(0)\n        os._exit(0)\n    os.wait()",
    );
    const zombies = () =>
      box
        .exec("ps", "-eo", "stat")
        .split("\n")
        .filter((line) => line.startsWith("Z"));
    await expect.poll(zombies, PATIENT).toEqual([]);
  });

  it("ends in order at SIGTERM from outside", async () => {
    await box.run("1");
    const { execFileSync } = await import("node:child_process");
    execFileSync("docker", ["kill", "--signal", "TERM", box.container]);
    expect(execFileSync("docker", ["wait", box.container], { encoding: "utf8" }).trim()).toBe("0");
    expect(box.logs()).toBe("");
  });
});

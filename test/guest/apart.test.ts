/** @module Whatever a cell does, the next one does not feel it: what runs on, what was printed, who says how it ended. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Ran, Sandbox } from "./fixture.ts";

const LANGUAGES = ["python", "bash", "node", "r"] as const;
type Language = (typeof LANGUAGES)[number];

const boxes = {} as Record<Language, Sandbox>;
beforeAll(async () => {
  const [python, node, r] = await Promise.all(
    ["python", "node", "r"].map((image) =>
      Sandbox.start({ image: `sandbar/${image}:latest`, docker: ["--cpus", "0.5"] }),
    ),
  );
  Object.assign(boxes, { python, bash: python, node, r });
}, 60_000);
afterAll(async () => {
  for (const box of new Set(Object.values(boxes))) {
    const { refused } = box;
    await box.stop();
    expect(refused).toEqual([]);
  }
});

const run = (language: Language, code: string) => boxes[language].run(code, { language });
const SAY: Record<Language, (text: string) => string> = {
  python: (text) => `print('${text}')`,
  bash: (text) => `echo ${text}`,
  node: (text) => `console.log('${text}')`,
  r: (text) => `cat('${text}\\n')`,
};

/** Interrupted once it has said `go` and `ready` holds; killed when it does not yield, as the daemon would. */
async function interrupted(language: Language, code: string, ready = () => true): Promise<Ran> {
  const box = boxes[language];
  const execution = box.start(`${SAY[language]("go")}\n${code}`, { language });
  await box.until(() => box.eventsOf(execution).some(({ type }) => type === "stdout"));
  for (let i = 0; i < 200 && !ready(); i++) await new Promise((resolve) => setTimeout(resolve, 20));
  box.send({ type: "interrupt", execution });
  return box.finish(execution, 10_000).catch(() => {
    box.send({ type: "kill", execution });
    return box.finish(execution);
  });
}
const running = (box: Sandbox, pattern: RegExp) => box.top().filter((line) => pattern.test(line)).length;

describe("an interrupt", () => {
  // In bash, since background jobs of a shell do not hear the interrupt.
  const BOMB = "f() { f | f & }; f";
  // Not `sleep`, which a shell in such a crowd may fail to start.
  const WAIT = "while ((1)); do ((1)); done";
  const HIDDEN = "echo 'bash /tmp/bomb & bash /tmp/bomb' >/tmp/bomb; setsid env -i bash /tmp/bomb &";
  const bombs: [string, Language, string][] = [
    ["bash", "bash", `:() { :|:& }; :; ${WAIT}`],
    ["bash, hidden", "bash", `${HIDDEN} ${WAIT}`],
    [
      "Python itself",
      "python",
      "import os\nwhile True:\n    try:\n        if os.fork() == 0: os.setsid(); os.execve('/bin/sleep', ['sleep', '100'], {})\n    except OSError: pass",
    ],
    [
      "Node",
      "node",
      `const { spawn } = require('node:child_process')\nfor (;;) { try { spawn('bash', ['-c', '${BOMB}'], { detached: true, env: {} }) } catch {} }`,
    ],
    ["R", "r", `repeat { system("bash -c '${BOMB}' &"); Sys.sleep(0.05) }`],
  ];
  it.each(bombs)("leaves nothing of a fork bomb in %s", async (_, language, code) => {
    const box = boxes[language];
    await run(language, language === "bash" ? "kept=1" : "kept = 1");
    const ran = await interrupted(language, code, () => box.top().length > 200);
    // A runtime that finds neither processor nor process may not hear the interrupt in time.
    expect(ran.done.status).toMatch(language === "bash" ? /^interrupted$/ : /interrupted|died/);
    const next = await run(
      language,
      language === "bash" ? 'echo "$(echo fine)" $kept' : SAY[language]("fine"),
    );
    expect(next).toMatchObject({ stdout: language === "bash" ? "fine 1\n" : "fine\n", stderr: "" });
    expect(box.top().length).toBeLessThan(10);
  });

  it("leaves no dead children either, which count as processes until Python asks for them", async () => {
    const fork =
      "import os, time\ntry:\n    while True:\n        os.posix_spawn('/bin/sleep', ['sleep', '3000'], {})\nexcept OSError: print('full')\ntime.sleep(3000)";
    const ran = await interrupted("python", fork, () => running(boxes.python, /^sleep/) > 200);
    expect(ran.done.status).toBe("interrupted");
    expect(
      (await run("python", "[os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)[1] for _ in range(3)]"))
        .results,
    ).toEqual([{ "text/plain": "[0, 0, 0]" }]);
    // Or else the sandbox would count as crowded, and the next interrupt sweep what earlier cells left.
    const pids = await run(
      "bash",
      "cat /sys/fs/cgroup/pids.current /sys/fs/cgroup/pids/pids.current 2>/dev/null",
    );
    expect(Number(pids.stdout)).toBeLessThan(20);
  });

  it("of a later cell ends an earlier one's fork bomb too", async () => {
    await run("bash", BOMB);
    const ran = await interrupted("bash", WAIT, () => boxes.bash.top().length > 200);
    expect(ran.done.status).toBe("interrupted");
    expect(await run("bash", 'echo "$(echo fine)"')).toMatchObject({ stdout: "fine\n", stderr: "" });
    expect(boxes.bash.top().length).toBeLessThan(10);
  });

  it("ends what its cell started, however it hides, and nothing that was there before or is another's", async () => {
    const box = boxes.bash;
    const process = `prc_apart_${Date.now()}`;
    await run("bash", "pkill -x sleep; rm -f /tmp/now; sleep 0.1");
    await run(
      "bash",
      "sleep 3001 & setsid env -i bash -c 'until [ -e /tmp/now ]; do sleep 0.05; done; sleep 3002; exit' &",
    );
    await run(
      "python",
      "import subprocess; old = subprocess.Popen(['sleep', '3003'], start_new_session=True)",
    );
    await box.call("ps.start", { process, command: "sleep 3004" });
    // The system tells when a process started in ticks of 10 ms.
    await new Promise((resolve) => setTimeout(resolve, 100));
    await interrupted(
      "bash",
      "touch /tmp/now; sleep 4001 & setsid sleep 4002 & setsid env -i sleep 4003 & (setsid nohup sleep 4004 &); wait",
      () => running(box, /^sleep 400/) === 4 && running(box, /^sleep 3002/) === 1,
    );
    expect(running(box, /^sleep 400/)).toBe(0);
    expect(running(box, /^sleep 300[1234]$/)).toBe(4);
    await box.call("ps.remove", { process });
    await run("bash", "pkill -x sleep; rm /tmp/now");
    await run("python", "old.kill(); old.wait()");
  });

  it.each(LANGUAGES)("that comes as its cell begins never ends the next one (%s)", async (language) => {
    const box = boxes[language];
    const wait = {
      python: "import asyncio; await asyncio.sleep(60)",
      bash: "sleep 60",
      node: "await new Promise(() => setTimeout(() => {}, 60_000))",
      r: "Sys.sleep(60)",
    }[language];
    const place = { language, context: `begins-${language}` };
    for (let round = 0; round < 15; round++) {
      const execution = box.start(wait, place);
      await box.until(() => box.eventsOf(execution).length);
      box.send({ type: "interrupt", execution });
      expect((await box.finish(execution)).done.status).toBe("interrupted");
      expect(await box.run(SAY[language]("fine"), place)).toMatchObject({ stdout: "fine\n", error: null });
    }
    box.send({ type: "context.close", context: place.context });
  });
});

describe("output", () => {
  const C_PRINTF =
    "dyn.load(Sys.glob('/lib/*/libc.so.6')); x <- .C('printf', c(charToRaw('mine'), as.raw(0)))";
  const ways: [string, Language, string, string][] = [
    ["closes 1", "python", "import os; os.close(1); print('lost')", ""],
    ["closes 2", "python", "import os, sys; os.close(2); print('lost', file=sys.stderr)", ""],
    [
      "closes 1 and catches",
      "python",
      "import os; os.close(1)\ntry: print('lost')\nexcept OSError: pass",
      "",
    ],
    [
      "has a full disk on 1",
      "python",
      "import os; os.dup2(os.open('/dev/full', os.O_WRONLY), 1); print('lost')",
      "",
    ],
    ["takes stdout apart", "python", "import sys; below = sys.stdout.detach(); below.write(b'mine')", "mine"],
    [
      "takes the buffer apart",
      "python",
      "import sys; below = sys.stdout.buffer.detach(); below.write(b'mine')",
      "mine",
    ],
    ["closes stdout", "python", "import sys; print('mine', end=''); sys.stdout.close()", "mine"],
    [
      "has a stream of its own that fails",
      "python",
      "import sys; sys.stdout = open('/dev/full', 'w'); print('lost')",
      "",
    ],
    ["prints in C", "python", "import ctypes; ctypes.CDLL(None).printf(b'mine'); None", "mine"],
    [
      "prints in C and closes 1",
      "python",
      "import ctypes, os; ctypes.CDLL(None).printf(b'lost'); os.close(1)",
      "",
    ],
    ["closes 1", "bash", "exec >&-; echo lost", ""],
    ["writes to a file", "bash", "exec >/tmp/file; echo there", ""],
    ["has a full disk on 1", "bash", "exec >/dev/full; echo lost; printf lost", ""],
    ["closes everything", "bash", "exec 0<&- 1>&- 2>&-; echo lost", ""],
    ["closes 1", "node", "require('node:fs').closeSync(1); console.log('lost')", ""],
    ["closes everything", "node", "[0, 1, 2].forEach(require('node:fs').closeSync); console.log('lost')", ""],
    ["corks", "node", "process.stdout.cork(); process.stdout.write('mine')", "mine"],
    ["diverts output", "r", "sink('/tmp/sink'); cat('there')", ""],
    [
      "diverts messages",
      "r",
      "messages <- file('/tmp/messages', 'w'); sink(messages, type = 'message'); message('there')",
      "",
    ],
    ["prints in C", "r", C_PRINTF, "mine"],
  ];
  it.each(ways)("of a cell that %s (%s) never comes in the next", async (_name, language, code, stdout) => {
    expect((await run(language, code)).stdout).toBe(stdout);
    const both: Record<Language, string> = {
      python: "import sys; print('out'); print('err', file=sys.stderr)",
      bash: "echo out; echo err >&2",
      node: "console.log('out'); console.error('err')",
      r: "cat('out\\n'); message('err')",
    };
    expect(await run(language, both[language])).toMatchObject({ stdout: "out\n", stderr: "err\n" });
  });
});

describe("the end of a cell", () => {
  // Everything that code can find in the stack and among the objects, shown to every socket.
  const FORGE = `
import gc, json, os, re, stat, sys
places = [o for o in gc.get_objects() if type(o) in (dict, list, tuple)]
frame = sys._getframe()
while frame: places.append(frame.f_locals); frame = frame.f_back
words = set()
for place in places:
    for value in (list(place.values()) if type(place) is dict else place):
        if type(value) is bytes: value = value.decode('latin1')
        if type(value) is str and re.fullmatch('exe_.*|t?[0-9a-f]{15,16}', value): words.add(value)
for fd in map(int, os.listdir('/proc/self/fd')):
    try:
        if stat.S_ISSOCK(os.fstat(fd).st_mode):
            for word in words: os.write(fd, json.dumps({'op': 'done', 'id': word, 'token': word, 'status': 'ok'}).encode() + b'\\n')
    except OSError: pass
print(len(words) > 0)
raise ValueError('real')`;

  it("cannot be said by code, which does not find the word for it", async () => {
    const ran = await run("python", FORGE);
    expect(ran).toMatchObject({ stdout: "True\n", done: { status: "error" }, error: { value: "real" } });
    const forged = '{"op":"done","status":"ok"}';
    const inBash = await run(
      "bash",
      `f() { for fd in /proc/$$/fd/*; do [ -S $fd ] && echo '${forged}' >&\${fd##*/}; done; }; f; set | grep -c 't[0-9a-f]\\{15\\}$'; false`,
    );
    expect(inBash).toMatchObject({ stdout: "0\n", done: { status: "error", exit_code: 1 } });
    const inNode = await run(
      "node",
      `require('node:fs').writeSync(3, '${forged}\\n'); throw new Error('real')`,
    );
    expect(inNode).toMatchObject({ done: { status: "error" }, error: { value: "real" } });
    const inR = await run(
      "r",
      `to <- file('/dev/fd/3', 'wb', raw = TRUE); cat('${forged}\\n', file = to); close(to); stop('real')`,
    );
    expect(inR).toMatchObject({ done: { status: "error" }, error: { value: "real" } });
    for (const language of LANGUAGES)
      expect(await run(language, SAY[language]("fine"))).toMatchObject({ stdout: "fine\n", error: null });
  });

  const early: [Language, string][] = [
    [
      "python",
      "import os, time\nfd = next(n for n in range(3, 1000) if 'socket:' in os.path.realpath(f'/proc/self/fd/{n}'))\nos.write(fd, b'{\"op\":\"done\",\"token\":\"%s\",\"status\":\"ok\"}\\n' % os.read(fd, 16)); print('early')\ntime.sleep(0.3); display('mine'); raise ValueError('mine')",
    ],
    [
      "bash",
      'for fd in /proc/$$/fd/*; do [ -S $fd ] && break; done; fd=${fd##*/}; read -N 16 -u $fd token; printf \'{"op":"done","token":"%s","status":"ok"}\\n\' $token >&$fd; sleep 0.3; echo mine; false',
    ],
    [
      "r",
      "token <- substr(readLines('/dev/fd/5', 1), 18, 33); to <- file('/dev/fd/3', 'wb', raw = TRUE); cat(sprintf('{\"op\":\"done\",\"token\":\"%s\",\"status\":\"ok\"}\\n', token), file = to); close(to); Sys.sleep(0.3); cat('mine'); stop('mine')",
    ],
  ];
  it.each(early)("that code says too early all the same (%s) is its own only", async (language, code) => {
    const box = boxes[language];
    const first = box.start(code, { language });
    const second = box.start(SAY[language]("fine"), { language });
    expect((await box.finish(first)).done.status).toBe("ok");
    expect(await box.finish(second)).toMatchObject({
      stdout: "fine\n",
      stderr: "",
      results: [],
      error: null,
      done: { status: "ok" },
    });
    expect(await run(language, SAY[language]("fine"))).toMatchObject({
      stdout: "fine\n",
      done: { status: "ok" },
    });
  });

  const children: [Language, string][] = [
    [
      "python",
      "import os\nif os.fork() == 0:\n    os.system('true')\n    print(*[os.readlink(f'/proc/self/fd/{n}') for n in os.listdir('/proc/self/fd') if os.path.lexists(f'/proc/self/fd/{n}')], sep='\\n', flush=True); os._exit(0)\nos.wait(); None",
    ],
    ["python", "import subprocess; subprocess.run(['ls', '-l', '/proc/self/fd'], close_fds=False); None"],
    ["bash", "ls -l /proc/self/fd"],
    [
      "node",
      "require('node:child_process').spawnSync('ls', ['-l', '/proc/self/fd'], { stdio: 'inherit' }); undefined",
    ],
    ["r", "x <- system('ls -l /proc/self/fd')"],
  ];
  it.each(children)("cannot be said by a child process (%s)", async (language, code) => {
    const ran = await run(language, code);
    expect(ran).toMatchObject({ error: null, stdout: expect.stringMatching(/^(.* -> )?\/(dev|proc)\//m) });
    const { stdout } = ran;
    expect(stdout).not.toMatch(/socket:/);
    // R's own channel is made of a pipe and a file in memory; its stdin is another one.
    expect(stdout.match(/pipe:|memfd:/g)?.length ?? 0).toBeLessThanOrEqual(language === "python" ? 2 : 1);
  });

  it("is also the end of its values: what shows one later is late", async () => {
    for (const [language, code, wait] of [
      [
        "python",
        "import threading, time\nthreading.Timer(0.1, lambda: display('shown later')).start()",
        "time.sleep(0.3)",
      ],
      [
        "node",
        "setTimeout(() => display('shown later'), 100); undefined",
        "await new Promise((done) => setTimeout(done, 300))",
      ],
    ] as const) {
      const box = boxes[language];
      const mark = box.messages.length;
      await run(language, code);
      expect((await run(language, wait)).results).toEqual([]);
      await box.until(() => box.lateText(mark).includes("shown later"));
      expect(await run(language, SAY[language]("fine"))).toMatchObject({ stdout: "fine\n" });
    }
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox, sleep } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start();
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

const kinds = (ran: Awaited<ReturnType<Sandbox["run"]>>) => ran.events.map((event) => event.type);

describe("a Python kernel", () => {
  it("says nothing on its own before the first cell", async () => {
    const ran = await box.run("1");
    expect(kinds(ran)).toEqual(["started", "result", "done"]);
    expect(box.lateText()).toBe("");
  });

  it("keeps variables, and gives the last expression as a result", async () => {
    await box.run("x = 20");
    const ran = await box.run("x + 1");
    expect(ran.results).toEqual([{ "text/plain": "21" }]);
    expect(ran.done).toMatchObject({ status: "ok", exit_code: null, exit: null });
  });

  it("streams output while the code runs", async () => {
    const execution = box.start("import time\nprint('a', end='')\nprint('b', 'c', end='')\ntime.sleep(30)");
    await box.until(
      () => box.eventsOf(execution).some((e) => e.type === "stdout" && e.text.includes("c")),
      3000,
    );
    box.send({ type: "interrupt", execution });
    const ran = await box.finish(execution);
    expect(ran.stdout).toBe("ab c");
    expect(ran.done.status).toBe("interrupted");
  });

  it("keeps output, display data and results in order", async () => {
    const ran = await box.run("print(1); display(2); print(3); display({'a': 1}); print(4)\n5");
    const order = ran.events.flatMap((e) =>
      e.type === "stdout" ? [e.text.trim()] : e.type === "result" ? [e.data["text/plain"]] : [],
    );
    expect(order).toEqual(["1", "2", "3", "{'a': 1}", "4", "5"]);
  });

  it("captures child processes and C code, stderr apart", async () => {
    const ran = await box.run(
      "import os, ctypes, subprocess\nprint('py')\nos.system('echo child; echo oops >&2')\n" +
        "subprocess.run(['echo', 'sub'])\nctypes.CDLL(None).puts(b'from c'); ctypes.CDLL(None).fflush(None)\nNone",
    );
    expect(ran.stdout).toBe("py\nchild\nsub\nfrom c\n");
    expect(ran.stderr).toBe("oops\n");
  });

  it("runs !commands and %%bash in order", async () => {
    const ran = await box.run("print('a')\n!echo b; echo e >&2\nprint('c')\ny = !echo captured\nprint(y[0])");
    expect(ran.stdout).toBe("a\nb\nc\ncaptured\n");
    expect(ran.stderr).toBe("e\n");
    expect((await box.run("%%bash\necho from bash")).stdout).toBe("from bash\n");
  });

  it("gives MIME bundles of rich objects", async () => {
    const ran = await box.run(`
class Rich:
    def __repr__(self): return "rich"
    def _repr_html_(self): return "<b>rich</b>"
    def _repr_svg_(self): return "<svg/>"
    def _repr_markdown_(self): return "**rich**"
    def _repr_latex_(self): return "$x$"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"nan": float("nan"), "n": 1}
Rich()`);
    expect(ran.results).toEqual([
      {
        "text/plain": "rich",
        "text/html": "<b>rich</b>",
        "image/svg+xml": "<svg/>",
        "text/markdown": "**rich**",
        "text/latex": "$x$",
        "image/png": "iVBORw==",
        "application/json": { nan: null, n: 1 },
      },
    ]);
    const frame = await box.run("import pandas as pd\npd.DataFrame({'a': [1]})");
    expect(frame.results[0]?.["text/html"]).toContain("<table");
  });

  it("shows plain values as text, and in any form that code has registered for them", async () => {
    const values = "[1, 'a', 2.5, True, b'x', (1,), {1}, {'k': [None]}]";
    expect((await box.run(values)).results).toEqual([{ "text/plain": values }]);
    expect((await box.run("%precision 2\n3.14159")).results).toEqual([{ "text/plain": "3.14" }]);
    await box.run(
      "%precision\nformatters = get_ipython().display_formatter.formatters\nformatters['text/html'].for_type(int, lambda n: f'<b>{n}</b>')",
    );
    expect((await box.run("7")).results).toEqual([{ "text/plain": "7", "text/html": "<b>7</b>" }]);
    expect((await box.run("'7'")).results).toEqual([{ "text/plain": "'7'" }]);
    await box.run("formatters['text/html'].pop(int)");
    expect((await box.run("7")).results).toEqual([{ "text/plain": "7" }]);
    await box.run(
      "from IPython.core.formatters import BaseFormatter\nclass Loud(BaseFormatter):\n    format_type = 'x/loud'\n    def __call__(self, value): return str(value) + '!'\n" +
        "formatters['x/loud'] = Loud(parent=get_ipython().display_formatter)",
    );
    expect((await box.run("7")).results).toEqual([{ "text/plain": "7", "x/loud": "7!" }]);
    await box.run("del formatters['x/loud']");
    await box.run(
      "before = formatters['text/plain'].for_type(int, lambda n, printer, cycle: printer.text(f'no. {n}'))",
    );
    expect((await box.run("7")).results).toEqual([{ "text/plain": "no. 7" }]);
    await box.run("_ = formatters['text/plain'].for_type(int, before)");
    expect((await box.run("7")).results).toEqual([{ "text/plain": "7" }]);
    const long = await box.run("10**5000");
    expect([long.done.status, long.results]).toEqual(["ok", []]);
    expect(long.stderr).toContain("Exceeds the limit (4300 digits)");
  });

  it("sends matplotlib figures as PNG at show() and at the end of a cell", async () => {
    const ran = await box.run(
      "import matplotlib.pyplot as plt\nplt.plot([1])\nprint('before')\nplt.show()\nprint('between')\n_ = plt.plot([2])",
    );
    expect(kinds(ran).filter((kind) => kind !== "stderr")).toEqual([
      "started",
      "stdout",
      "result",
      "stdout",
      "result",
      "done",
    ]);
    expect(ran.results.every((data) => String(data["image/png"]).startsWith("iVBORw0KGgo"))).toBe(true);
    expect(ran.stderr).toBe("");
    expect((await box.run("f = plt.figure(); f")).results).toHaveLength(1);
    expect((await box.run("plt.get_fignums()")).results[0]?.["text/plain"]).toBe("[]");
  });

  it("cuts text that is too long and says how long it was; what cannot be cut is left out and named", async () => {
    const ran = await box.run(
      "from IPython.display import display\n" +
        "display({'text/plain': 'x' * 2000, 'text/markdown': '😀' * 1500, 'text/html': 'h' * 1001, 'image/png': b'p' * 900, " +
        "'application/json': ['j' * 1000], 'application/ok': {'a': 1}}, raw=True)\n'y' * 5_000_000",
      { mime_value_limit: 1000 },
    );
    expect(ran.results).toEqual([
      { "text/plain": "x".repeat(1000), "text/markdown": "😀".repeat(1000), "application/ok": { a: 1 } },
      { "text/plain": `'${"y".repeat(999)}` },
    ]);
    expect(ran.done.totals).toMatchObject({
      results_dropped: 3,
      result: 5_000_002,
      left_out: { "text/html": 1001, "image/png": 1200, "application/json": 1004 },
    });
    const total = await box.run("for i in range(5): display({'text/plain': 'y' * 400}, raw=True)", {
      mime_total_limit: 1000,
    });
    expect(total.results.map((data) => String(data["text/plain"]).length)).toEqual([400, 400, 200]);
    expect(total.done.totals).toMatchObject({
      results_dropped: 2,
      result: 400,
      left_out: { "text/plain": 400 },
    });
    expect((await box.run("'short'")).done.totals).toEqual({ stdout: 0, stderr: 0, results_dropped: 0 });
  });

  it("cuts text whose escapes or bytes would not fit one frame", async () => {
    for (const char of ["\\x01", "\\u20ac"]) {
      const ran = await box.run(`display({'text/plain': '${char}' * 1_000_000}, raw=True)`);
      const bytes = Buffer.byteLength(JSON.stringify(ran.results[0]));
      expect(bytes).toBeGreaterThan(700_000);
      expect(bytes).toBeLessThan(1_500_000);
      expect(ran.done.totals.result).toBe(1_000_000);
    }
  });

  it("awaits at top level, and background tasks go on between cells", async () => {
    const ran = await box.run(
      "import asyncio\nticks = []\nasync def tick():\n    while True:\n        ticks.append(1); print('tick'); await asyncio.sleep(0.01)\n" +
        "task = asyncio.create_task(tick())\nawait asyncio.sleep(0.05)\nasync def f(): return 7\nawait f()",
    );
    expect(ran.results).toEqual([{ "text/plain": "7" }]);
    expect(ran.stdout).toContain("tick");
    const before = Number((await box.run("len(ticks)")).results[0]?.["text/plain"]);
    await expect
      .poll(async () => Number((await box.run("len(ticks)")).results[0]?.["text/plain"]), { timeout: 20_000 })
      .toBeGreaterThan(before + 5);
    expect((await box.run("await asyncio.sleep(0.05)")).stdout).toBe("");
    await box.run("task.cancel()");
    expect((await box.run("async def g(): return 3\ng()")).results[0]?.["text/plain"]).toBe("3");
  });

  it("reports errors with name, value and a traceback without colours or our own frames", async () => {
    const ran = await box.run("def f():\n    return 1 / 0\nf()");
    expect(ran.done.status).toBe("error");
    expect(ran.error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
    expect(ran.error?.traceback).toContain("return 1 / 0");
    expect(ran.error?.traceback).not.toMatch(/\x1b|sandbar_kernel/);
    const syntax = await box.run("x = (");
    expect(syntax.error).toMatchObject({ name: "SyntaxError" });
    expect(syntax.stderr).toBe("");
  });

  it("prints the tracebacks that do not end the cell", async () => {
    const hidden = await box.run(
      "class Hidden:\n    def __repr__(self): raise ValueError('not to be seen')\ndisplay(Hidden())\nHidden()",
    );
    expect(hidden).toMatchObject({ done: { status: "ok" }, error: null });
    expect(hidden.stderr.match(/ValueError: not to be seen/g)).toHaveLength(2);
    await box.run("open('/tmp/bad.py', 'w').write('def f():\\n    1 / 0\\nf()\\n')");
    expect((await box.run("%run /tmp/bad.py")).stderr).toMatch(
      /bad\.py[\s\S]*ZeroDivisionError: division by zero\n/,
    );
    const both = await box.run("%run /tmp/bad.py\nraise KeyError('mine')");
    expect(both).toMatchObject({ done: { status: "error" }, error: { name: "KeyError" } });
    expect(both.stderr).toContain("ZeroDivisionError");
    expect(both.stderr).not.toContain("KeyError");
  });

  it("treats exit() as the end of the code, not of the kernel", async () => {
    await box.run("kept = 1");
    expect((await box.run("exit()\nprint('no')")).done).toMatchObject({ status: "ok", exit_code: 0 });
    const failed = await box.run("import sys; sys.exit(3)");
    expect(failed.done).toMatchObject({ status: "error", exit_code: 3, exit: null });
    expect(failed.error?.name).toBe("SystemExit");
    expect(failed.stderr).toBe("");
    expect((await box.run("kept")).results).toEqual([{ "text/plain": "1" }]);
  });

  it("fails input() fast, unless stdin is given", async () => {
    const none = await box.run("input('name? ')");
    expect(none.error).toMatchObject({ name: "EOFError" });
    expect(none.error?.value).toContain("stdin");
    const given = await box.run("a = input('name? ')\nb = input()\nimport sys\n(a, b, sys.stdin.read())", {
      stdin: "Ada\nLovelace\nré\nst",
    });
    expect(given.results[0]?.["text/plain"]).toBe("('Ada', 'Lovelace', 'ré\\nst')");
    expect(given.stdout).toBe("name? ");
    expect((await box.run("import os; os.system('cat')\nNone", { stdin: "to the child" })).stdout).toBe(
      "to the child",
    );
    expect((await box.run("input()")).error?.name).toBe("EOFError");
  });

  it("sets the environment of one execution only", async () => {
    const ran = await box.run("import os; os.system('echo $ONLY'); os.environ['HOME']", {
      env: { ONLY: "here", HOME: "/x" },
    });
    expect(ran.stdout).toBe("here\n");
    expect((await box.run("os.environ.get('ONLY'), os.environ['HOME']")).results[0]?.["text/plain"]).toBe(
      "(None, '/session/.home')",
    );
  });

  it("never lets a thread of an earlier cell print into a later one", async () => {
    const mark = box.messages.length;
    await box.run(
      "import threading, time\ndef talk():\n    for i in range(200):\n        print('stale', i); time.sleep(0.005)\n" +
        "t = threading.Thread(target=talk); t.start()",
    );
    const ran = await box.run("import time\nfor i in range(5):\n    print('mine'); time.sleep(0.02)");
    expect(ran.stdout).toBe("mine\n".repeat(5));
    const own = await box.run(
      "t2 = threading.Thread(target=lambda: print('own thread')); t2.start(); t2.join()",
    );
    expect(own.stdout).toBe("own thread\n");
    await box.run("t.join()");
    expect(box.lateText(mark)).toContain("stale 50");
  });

  it("hands over between two writes of such a thread, not within one", async () => {
    await box.run(
      "import sys\nsys.setswitchinterval(1e-5)\ndef talk():\n    for i in range(3000):\n        sys.stdout.write('s'); time.sleep(1e-4)\n" +
        "ts = [threading.Thread(target=talk) for _ in range(4)]\nfor t in ts: t.start()",
    );
    for (let i = 0; i < 60; i++) expect((await box.run("print('mine')")).stdout).toBe("mine\n");
    await box.run("for t in ts: t.join()\nsys.setswitchinterval(0.005)");
  });

  it("never lets a child process of an earlier cell print into a later one", async () => {
    const mark = box.messages.length;
    await box.run(
      "import subprocess\np = subprocess.Popen('until [ -e /tmp/enough ]; do echo ghost; sleep 0.05; done', shell=True)",
    );
    const ran = await box.run("import time; time.sleep(0.2); print('mine')");
    expect(ran.stdout).toBe("mine\n");
    await box.message("late", ({ text }) => text.includes("ghost"), mark);
    await box.run("open('/tmp/enough', 'w').close(); p.wait()");
  });

  it("decodes UTF-8 across writes and replaces what is invalid", async () => {
    const ran = await box.run(
      "import os, time\nos.write(1, b'\\xf0\\x9f'); time.sleep(0.03); os.write(1, b'\\x98\\x80 \\xff \\xc3')",
    );
    expect(ran.stdout).toBe("😀 \ufffd \ufffd");
    expect(ran.done.totals.stdout).toBe(ran.stdout.length);
  });

  it("survives lone surrogates and NUL in what is shown", async () => {
    const ran = await box.run("print('\\x00|')\n'\\ud800'");
    expect(ran.stdout).toBe("\0|\n");
    expect((await box.run("display({'text/plain': '\\ud83d'}, raw=True)")).results).toHaveLength(1);
  });

  it("streams at most the limit and counts the rest: 100 MB", async () => {
    const ran = await box.run(
      "import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)\nprint('end', file=sys.stderr)",
      {
        stream_limit: 1_000_000,
      },
    );
    expect(ran.stdout).toHaveLength(1_000_000);
    expect(ran.done.totals).toMatchObject({ stdout: 100_000_000, stderr: 4 });
    expect(ran.stderr).toBe("end\n");
    expect(ran.events.every((e) => e.type !== "stdout" || e.text.length <= 32 * 1024)).toBe(true);
  });

  it("cuts an error that is too long, and says how long it was", async () => {
    const ran = await box.run("raise ValueError('é' * 3_000_000)");
    expect(ran.error?.value.length).toBeLessThan(20_000);
    expect(ran.done.totals.error).toBe(3_000_000);
    expect(ran.done.totals.traceback).toBeGreaterThan(3_000_000);
  });

  it("interrupts and keeps the variables", async () => {
    const execution = box.start("kept = 'yes'\nimport time\nprint('go')\ntime.sleep(60)");
    await box.printed(execution);
    box.send({ type: "interrupt", execution });
    const ran = await box.finish(execution);
    expect(ran.done.status).toBe("interrupted");
    expect(ran.error?.name).toBe("KeyboardInterrupt");
    box.send({ type: "interrupt", execution });
    box.send({ type: "kill", execution });
    expect((await box.run("kept")).results).toEqual([{ "text/plain": "'yes'" }]);
  });

  it("interrupts a child process and an await", async () => {
    for (const code of [
      "import os; os.system('sleep 60')\nraise KeyboardInterrupt",
      "!sleep 60",
      "import asyncio; await asyncio.sleep(60)",
    ]) {
      const execution = box.start(`print('go')\n${code}`);
      await box.printed(execution);
      await sleep(100);
      box.send({ type: "interrupt", execution });
      expect((await box.finish(execution)).done.status).toBe("interrupted");
    }
    expect((await box.run("kept")).results).toEqual([{ "text/plain": "'yes'" }]);
  });

  it("ends an interrupted await for good", async () => {
    const execution = box.start(
      "steps = []\ngate = asyncio.Event()\nasync def slow():\n    try:\n        print('go'); await gate.wait(); steps.append('went on')\n    finally:\n        steps.append('cleaned up')\nawait slow()\nsteps.append('next line')",
    );
    await box.printed(execution);
    box.send({ type: "interrupt", execution });
    expect((await box.finish(execution)).done.status).toBe("interrupted");
    await box.run("gate.set(); await asyncio.sleep(0.05)");
    expect((await box.run("steps")).results).toEqual([{ "text/plain": "['cleaned up']" }]);
  });

  it("hears an interrupt that comes before the code has begun", async () => {
    for (let i = 0; i < 3; i++) {
      box.send({ type: "context.open", context: `early${i}`, language: "python", env: {} });
      await box.message("context", ({ context, state }) => context === `early${i}` && state === "ready");
      const execution = box.start("import time; time.sleep(60)", {
        language: "python",
        context: `early${i}`,
      });
      box.send({ type: "interrupt", execution });
      expect((await box.finish(execution)).done.status).toBe("interrupted");
      box.send({ type: "context.close", context: `early${i}` });
    }
  });

  it("hears an interrupt where Python lets no exception through", async () => {
    for (const code of [
      "class Slow:\n    def __del__(self): sum(range(20_000))\nprint('go')\nwhile True: Slow()",
      "class Slower:\n    def __del__(self): sum(range(2_000_000))\nprint('go')\nlist(map(lambda _: Slower() and None, iter(int, 1)))",
      "import os\nos.register_at_fork(before=lambda: sum(range(200_000)))\nprint('go')\nwhile True:\n    if (child := os.fork()) == 0: os._exit(0)\n    os.waitpid(child, 0)",
    ]) {
      const execution = box.start(code);
      await box.printed(execution);
      box.send({ type: "interrupt", execution });
      const ran = await box.finish(execution);
      expect(ran.done.status).toBe("interrupted");
      expect(ran.stderr).not.toContain("ignored");
    }
    expect((await box.run("kept")).results).toEqual([{ "text/plain": "'yes'" }]);
  });

  it("takes code that begins with a byte order mark", async () => {
    expect((await box.run("\ufefflen('\ufeff')")).results).toEqual([{ "text/plain": "1" }]);
  });

  it("reports a recursion of any depth, and lives on after IPython's own exit hooks", async () => {
    const deep = await box.run(
      "import sys; sys.setrecursionlimit(10**9)\ndef dive(n):\n    if n == 0: raise ValueError('bottom')\n    dive(n - 1)\ndive(100_000)",
    );
    expect(deep).toMatchObject({ done: { status: "error" }, error: { name: "ValueError", value: "bottom" } });
    expect(deep.error?.traceback).toContain("raise ValueError('bottom')");
    await box.run("sys.setrecursionlimit(1000); import atexit; atexit._run_exitfuncs()");
    expect((await box.run("dive\n'alive'")).results).toEqual([{ "text/plain": "'alive'" }]);
  });

  it("lists its state, whatever a __repr__ does", async () => {
    await box.run(`
import math, time
class Raises:
    def __repr__(self): raise ValueError
class Prints:
    def __repr__(self): print("noise"); import os; os.write(1, b"raw noise"); return "printed"
class Exits:
    def __repr__(self): import os; raise SystemExit
raises, prints, exits, number, text = Raises(), Prints(), Exits(), 42, "t" * 1000`);
    const mark = box.messages.length;
    const answer = await box.call("state", { context: "python", timeout_ms: 10_000 });
    const state = answer.result as {
      variables: { name: string; type: string; repr: string; size: number }[];
      imports: string[];
      cwd: string;
    };
    const byName = Object.fromEntries(state.variables.map((v) => [v.name, v]));
    expect(byName.number).toMatchObject({ type: "int", repr: "42" });
    expect(byName.raises).toMatchObject({ type: "Raises", repr: "<repr raised ValueError>" });
    expect(byName.prints).toMatchObject({ repr: "printed" });
    expect(byName.exits?.repr).toContain("SystemExit");
    expect(byName.text?.repr.length).toBeLessThanOrEqual(200);
    expect(Object.keys(byName)).not.toContain("exit");
    expect(state.imports).toContain("math");
    expect(state.cwd).toBe("/session");
    await sleep(20);
    expect(box.lateText(mark)).toBe("");

    await box.run(
      "class Loops:\n    def __repr__(self):\n        while True:\n            try: time.sleep(1)\n            except BaseException: pass\nloops = Loops()\nafter = 1",
    );
    const cut = await box.call("state", { context: "python", timeout_ms: 2000 });
    const reprs = (result: unknown) =>
      Object.fromEntries((result as typeof state).variables.map((v) => [v.name, v.repr]));
    expect(reprs(cut.result)).toMatchObject({
      number: "42",
      loops: "<repr did not come in time>",
      after: "<not read: time was up>",
    });

    await box.run(
      "class Slow:\n    def __repr__(self):\n        while True: pass\n    __sizeof__ = __repr__\nloops, slow, last = 0, Slow(), 2",
    );
    const whole = await box.call("state", { context: "python", timeout_ms: 10_000 });
    expect(reprs(whole.result)).toMatchObject({ slow: "<repr did not come in time>", last: "2", after: "1" });
    expect((await box.run("del loops, slow; after")).results).toEqual([{ "text/plain": "1" }]);

    await box.run("class Ends:\n    def __repr__(self): import os; os._exit(0)\nloops, beyond = Ends(), 3");
    const ended = await box.call("state", { context: "python" });
    expect(reprs(ended.result)).toMatchObject({
      after: "1",
      loops: "<repr ended the process that asked for it>",
      beyond: "<not read>",
    });
    await box.run("del loops, beyond");

    await box.run("globals().update({f'many{i}': i for i in range(600)})");
    const many = (await box.call("state", { context: "python" })).result as typeof state & { total: number };
    expect(many.variables).toHaveLength(500);
    expect(many.total).toBeGreaterThan(600);
    await box.run("for i in range(600): del globals()[f'many{i}']");
  });

  it("answers BUSY while code runs, and ping always", async () => {
    const execution = box.start("import time; time.sleep(600)");
    expect(await box.call("state", { context: "python" })).toMatchObject({ code: "BUSY" });
    expect(await box.call("state", { context: "nobody" })).toMatchObject({ code: "UNKNOWN_CONTEXT" });
    expect(await box.call("nonsense", {})).toMatchObject({ code: "UNKNOWN_METHOD" });
    expect(await box.call("ping", {})).toMatchObject({ result: {} });
    box.send({ type: "interrupt", execution });
    await box.finish(execution);
  });

  it("runs executions of one context in order and of two in parallel", async () => {
    const first = box.start("import time; time.sleep(0.3); order = [1]");
    const second = box.start("order.append(2); order");
    const other = await box.run("'beside'", { context: "other" });
    expect(other.done.status).toBe("ok");
    expect((await box.finish(second)).results).toEqual([{ "text/plain": "[1, 2]" }]);
    await box.finish(first);
    box.send({ type: "context.close", context: "other" });
    await box.message("context", (m) => m.context === "other" && m.state === "dead");
  });

  it("restarts a context on request", async () => {
    const mark = box.messages.length;
    await box.run("gone = 1");
    box.send({ type: "context.restart", context: "python" });
    await box.message("context", (m) => m.state === "ready", mark);
    expect((await box.run("gone")).error?.name).toBe("NameError");
  });

  it("starts although files of the session are named like modules that it needs itself", async () => {
    const names = "['traitlets', 'decorator', 'pdb', 'random', 'json', 'asyncio']";
    await box.run(
      `for name in ${names}: open(f'/session/{name}.py', 'w').write('raise RuntimeError(__name__)')`,
    );
    const mark = box.messages.length;
    box.send({ type: "context.restart", context: "python" });
    await box.message("context", (m) => m.state === "ready", mark);
    const ran = await box.run(`import os\nfor name in ${names}: os.remove(f'/session/{name}.py')`);
    expect(ran.error).toBeNull();
  });

  it("passes on a clean environment and the one of context.open", async () => {
    box.send({ type: "context.open", context: "env", language: "python", env: { GIVEN: "yes" } });
    const ran = await box.run(
      "import os\nsorted(k for k in os.environ if k in ('GIVEN', 'HOSTNAME', 'SANDBAR_SOCKET', 'PATH', 'HOME'))",
      {
        context: "env",
      },
    );
    expect(ran.results[0]?.["text/plain"]).toBe("['GIVEN', 'HOME', 'PATH']");
    box.send({ type: "context.close", context: "env" });
  });

  it("starts at most 16 contexts", async () => {
    const mark = box.messages.length;
    for (let i = 0; i < 17; i++)
      box.send({ type: "context.open", context: `many${i}`, language: "bash", env: {} });
    // The last context of an earlier test may end only now.
    const refused = await box.message("context", (m) => m.state === "dead" && m.detail !== "closed", mark);
    expect(refused.detail).toContain("too many contexts");
    for (let i = 0; i < 17; i++) box.send({ type: "context.close", context: `many${i}` });
    await box.until(
      () =>
        box.messages.slice(mark).filter((m) => m.type === "context" && m.detail === "closed").length >= 14,
    );
  });

  it("finds IPython's own syntax wherever it stands, and takes Python's operators for nothing else", async () => {
    const ran = await box.run(
      "x = 7\nif x % 2 != 0 and x / 1:\n    !echo shell\nfiles = !echo assigned\nprint(files[0])",
    );
    expect(ran.stdout).toBe("shell\nassigned\n");
    expect((await box.run("def f(*words): return words\n,f a b")).results[0]).toEqual({
      "text/plain": "('a', 'b')",
    });
    expect((await box.run("x = [1,\n  2]\nx")).results[0]).toEqual({ "text/plain": "[1, 2]" });
    expect((await box.run("'a;b'")).results[0]).toEqual({ "text/plain": "'a;b'" });
    expect((await box.run("'quiet';")).results).toEqual([]);
  });

  it("stays small, however much is printed", async () => {
    const fresh = await Sandbox.start();
    try {
      for (let cell = 0; cell < 10; cell++)
        await fresh.run("for i in range(3000): print(str(i % 10) * 1000)", { stream_limit: 1000 });
      await fresh.run("1 + 1");
      const kilobytes = fresh.exec("ps", "-e", "-o", "rss=,comm=").trim().split("\n");
      const ours = kilobytes.map((line) => line.trim().split(/\s+/)).filter(([, name]) => name !== "ps");
      expect(ours).toHaveLength(2);
      expect(ours.reduce((sum, [rss]) => sum + Number(rss), 0)).toBeLessThan(50_000);
    } finally {
      await fresh.stop();
    }
  });
});

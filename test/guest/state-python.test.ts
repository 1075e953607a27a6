import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "./fixture.ts";
import { dump, fates, load } from "./saved-state.ts";

const FORMAT = "python-cloudpickle/1";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start();
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

let count = 0;
/** A context in which the code has run, and one that was given its variables. */
async function copied(code: string) {
  const [from, to] = [`from${++count}`, `to${count}`];
  const ran = await box.run(code, { context: from });
  expect(ran.error).toBe(null);
  const saved = await dump(box, from);
  const loaded = await load(box, to, "python", FORMAT, saved.bytes);
  const show = async (expression: string, context = to) => {
    const { results, error } = await box.run(expression, { context });
    return error ? `${error.name}: ${error.value}` : results[0]?.["text/plain"];
  };
  box.send({ type: "context.close", context: from });
  return { from, to, saved, loaded, show };
}

describe("variables of a Python context", () => {
  it("come back in another kernel, with what they share, functions, classes and modules", async () => {
    const { saved, loaded, show } = await copied(`
import numpy as np, pandas as pd, concurrent.futures, os
from random import randint
shared = [1, 2]
both = {"a": shared, "b": shared}
counter = 0
def bump():
    global counter
    counter += 1
    return counter, helper()
def helper(): return len(shared)
class Point:
    made = 0
    def __init__(self, x): self.x = x; Point.made += 1
    def twice(self): return Point(self.x * 2)
p = Point(3)
frame = pd.DataFrame({"n": np.arange(100_000), "s": [str(i) for i in range(100_000)]})
grid = np.arange(200_000.0).reshape(2, -1)
adders = [lambda y, x=x: x + y for x in range(3)]
itself = []; itself.append(itself)
_private = "kept"
os.makedirs("/tmp/elsewhere", exist_ok=True); os.chdir("/tmp/elsewhere")
os.environ["COLOR"] = "blue"
`);
    expect(saved).toMatchObject({ alive: true, language: "python", format: FORMAT, more: 0 });
    expect(saved.size).toBe(saved.bytes.length);
    expect(new Set(Object.values(fates(saved)))).toEqual(new Set(["saved"]));
    expect(fates(loaded)).toEqual(fates(saved));
    expect(saved.environment).toEqual({ cwd: "/tmp/elsewhere", set: ["COLOR"], unset: [] });
    expect(await show("both['a'] is shared and both['b'] is shared and itself[0] is itself")).toBe("True");
    expect(await show("bump(), counter")).toBe("((1, 2), 1)");
    expect(await show("counter = 10; shared.append(3); bump()")).toBe("(11, 3)");
    expect(await show("type(p) is Point, p.twice().x, Point.made")).toBe("(True, 6, 2)");
    expect(
      await show("frame.shape, int(frame.n.sum()), frame.s.iloc[-1], grid.sum() == sum(range(200_000))"),
    ).toBe("((100000, 2), 4999950000, '99999', np.True_)");
    expect(await show("grid[0, 0] = 5; [f(10) for f in adders], _private")).toBe("([10, 11, 12], 'kept')");
    expect(await show("concurrent.futures.Future, os.getcwd(), os.environ['COLOR']")).toContain(
      "'/tmp/elsewhere', 'blue'",
    );
    // A generator of its own, not a copy of the one that it was saved from.
    expect(await show("import random; randint.__self__ is random._inst")).toBe("True");
  });

  it("are told one by one: what is lost and what is not quite itself, and why", async () => {
    const { saved, loaded, show } = await copied(`
import threading, subprocess, asyncio, socket, sqlite3, numpy as np
open("/session/text", "w").write("one\\ntwo\\n")
before = [1]
gen = (x for x in range(3))
thread = threading.Thread(target=print)
lock = threading.Lock()
nested = {"shared": before, "deep": [lock]}
after = [before, nested["shared"]]
process = subprocess.Popen(["true"])
async def co(): pass
coroutine = co()
connection = sqlite3.connect(":memory:")
sock = socket.socket()
writer = open("/session/out", "w")
reader = open("/session/text"); reader.readline()
base = np.zeros(10); view = base[2:]
whole = base.reshape(2, 5).copy()
seen = memoryview(b"abc")
def uses(): return lock.locked()
class Bad:
    def __reduce__(self): raise ValueError("no " + "x" * 1000)
bad = Bad()
class Slow:
    def __reduce__(self):
        import os; os._exit(1) if False else None
        return (int, ("7",))
slow = Slow()
`);
    const told = fates(saved);
    for (const name of ["gen", "thread", "process", "coroutine", "connection", "sock", "writer", "lock"])
      expect(told[name]).toMatch(/^lost: .*cannot be saved/);
    expect(told.nested).toMatch(/^lost: TypeError: cannot pickle '_thread.lock'/);
    expect(told.bad).toMatch(/^lost: ValueError: no x+$/);
    expect(told.bad!.length).toBeLessThan(320);
    expect(told.reader).toMatch(/^degraded: the file is opened again/);
    expect(told.view).toMatch(/^degraded: it shared its memory with 'base'/);
    expect(told.seen).toMatch(/^degraded: .*bytes/);
    expect(told.uses).toBe("degraded: it uses lock, which is lost");
    for (const name of ["before", "after", "base", "whole", "Bad", "slow"]) expect(told[name]).toBe("saved");
    expect(fates(loaded)).toEqual(told);
    expect(await show("after[0] is before and after[1] is before, slow, seen, whole.shape")).toBe(
      "(True, 7, b'abc', (2, 5))",
    );
    expect(await show("reader.readline(), np.shares_memory(view, base), view.shape")).toBe(
      "('two\\n', False, (8,))",
    );
    expect(await show("lock")).toMatch(/^NameError/);
  });

  it("that cannot come back cost no others", async () => {
    await box.run("open('/session/gone.py', 'w').write('class C: pass\\ndef make(): return C()')");
    const from = "before-gone";
    await box.run(
      "import gone; first = [1]; lost = [gone.C(), first, 'in lost']; second = (first, lost[2]); shares = lost; last = [first]",
      {
        context: from,
      },
    );
    const saved = await dump(box, from);
    await box.run(
      "import os; os.remove('/session/gone.py'); import shutil; shutil.rmtree('/session/__pycache__', True)",
    );
    const told = fates(await load(box, "after-gone", "python", FORMAT, saved.bytes));
    expect(told).toMatchObject({
      first: "saved",
      last: "saved",
      gone: expect.stringMatching(/^lost: ModuleNotFoundError/),
      lost: expect.stringMatching(/^lost: ModuleNotFoundError/),
      second: expect.stringMatching(/^lost: .*shares something/),
    });
    const ran = await box.run("last[0] is first, first", { context: "after-gone" });
    expect(ran.results[0]?.["text/plain"]).toBe("(True, [1])");
  });
});

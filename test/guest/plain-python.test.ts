import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Sandbox } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  // Any image with Python will do; this one has no IPython.
  box = await Sandbox.start({ image: "sandbar/node:latest" });
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

describe("a Python kernel in an image without IPython", () => {
  it("keeps variables, shows the last expression and rich objects", async () => {
    await box.run("x = 20");
    expect((await box.run("print('out')\nx + 1")).results).toEqual([{ "text/plain": "21" }]);
    expect((await box.run("x;")).results).toEqual([]);
    expect(
      (
        await box.run(
          "class R:\n    def _repr_html_(self): return '<b>r</b>'\n    def __repr__(self): return 'r'\nR()",
        )
      ).results,
    ).toEqual([{ "text/plain": "r", "text/html": "<b>r</b>" }]);
    const ran = await box.run("print(1); display('two'); print(3)");
    expect(ran.events.map((e) => e.type)).toEqual(["started", "stdout", "result", "stdout", "done"]);
  });

  it("awaits at top level and a stray coroutine, and tasks go on between cells", async () => {
    expect(
      (await box.run("import asyncio\nawait asyncio.sleep(0.01)\nasync def f(): return 5\nf()")).results,
    ).toEqual([{ "text/plain": "5" }]);
    await box.run(
      "n = 0\nasync def tick():\n    global n\n    while True:\n        n += 1; await asyncio.sleep(0.01)\nt = asyncio.ensure_future(tick())\nawait asyncio.sleep(0)",
    );
    const ticks = async () => Number((await box.run("n")).results[0]?.["text/plain"]);
    await expect.poll(ticks, { timeout: 20_000 }).toBeGreaterThan(5);
    await box.run("t.cancel()");
  });

  it("reports errors, exits and interrupts", async () => {
    const ran = await box.run("def f():\n    return 1 / 0\nf()");
    expect(ran.error).toMatchObject({ name: "ZeroDivisionError", value: "division by zero" });
    expect(ran.error?.traceback).toContain("return 1 / 0");
    expect(ran.error?.traceback).not.toContain("sandbar_kernel");
    expect((await box.run("x = (")).error?.name).toBe("SyntaxError");
    expect((await box.run("exit(3)")).done).toMatchObject({ status: "error", exit_code: 3 });
    const execution = box.start("import time; print('go'); time.sleep(60)");
    await box.printed(execution);
    box.send({ type: "interrupt", execution });
    expect((await box.finish(execution)).done.status).toBe("interrupted");
    expect((await box.run("x")).results).toEqual([{ "text/plain": "20" }]);
  });

  it("completes names and attributes", async () => {
    await box.run("import os\nnumber = 7\nclass Bad:\n    def __dir__(self): os._exit(1)\nbad = Bad()");
    const complete = async (code: string) =>
      (await box.call("complete", { context: "python", code, cursor: code.length })).result;
    expect(await complete("'😀', numb")).toMatchObject({
      matches: [{ text: "number", type: "instance" }],
      start: 6,
      end: 10,
    });
    expect(await complete("whil")).toMatchObject({ matches: [{ text: "while", type: "keyword" }] });
    expect(await complete("x = os.getcw")).toMatchObject({
      matches: [{ text: "getcwd", type: "function" }, { text: "getcwdb" }],
      start: 7,
    });
    expect(await complete("bad.")).toMatchObject({ matches: [], busy: false });
  });

  it("lists its state and pickles its classes", async () => {
    await box.run("import pickle\nclass Point:\n    v = 1\np = pickle.loads(pickle.dumps(Point()))");
    const answer = await box.call("state", { context: "python" });
    const state = answer.result as { variables: { name: string }[]; imports: string[] };
    expect(state.variables.map((v) => v.name)).toEqual(expect.arrayContaining(["x", "Point", "p"]));
    expect(state.variables.map((v) => v.name)).not.toContain("display");
    expect(state.imports).toContain("pickle");
  });
});

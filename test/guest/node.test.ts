import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunOptions } from "./fixture.ts";
import { Sandbox, sleep } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start({ image: "sandbar/node:latest" });
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

const node = (code: string, options: RunOptions = {}) => box.run(code, { ...options, language: "node" });
const text = async (code: string) => (await node(code)).results.at(-1)?.["text/plain"];

async function interrupted(code: string) {
  const execution = box.start(code, { language: "node" });
  await box.until(() => box.eventsOf(execution).length);
  await sleep(200);
  box.send({ type: "interrupt", execution });
  return box.finish(execution);
}

describe("a Node kernel", () => {
  it("gives values as text, plain objects as JSON too", async () => {
    const ran = await node("console.log('out'); console.error('err'); ({ a: [1, 'x'], b: null })");
    expect(ran).toMatchObject({ stdout: "out\n", stderr: "err\n" });
    expect(ran.results).toEqual([
      { "text/plain": "{ a: [ 1, 'x' ], b: null }", "application/json": { a: [1, "x"], b: null } },
    ]);
    expect(ran.done).toMatchObject({ status: "ok", exit_code: null });
    expect((await node("undefined")).results).toEqual([]);
    expect(await text("10n ** 20n")).toBe("100000000000000000000n");
    expect(await text("Symbol('s')")).toBe("Symbol(s)");
    expect(await text("const o = {}; o.o = o; o")).toContain("[Circular");
    expect(await text("new Map([[1, new Set(['x'])]])")).toBe("Map(1) { 1 => Set(1) { 'x' } }");
  });

  it("keeps declarations, and lets them be made again", async () => {
    await node(
      "const a = 1; let b = 2; class C { v() { return 1; } } function f() { return 'f'; } var d = 4",
    );
    expect(await text("[a, b, new C().v(), f(), d].join()")).toBe("'1,2,1,f,4'");
    await node("const a = 10; let b = 20; class C { v() { return 2; } }");
    expect(await text("[a, b, new C().v()].join()")).toBe("'10,20,2'");
    expect((await node("let broken = (() => { throw new Error('x') })()")).done.status).toBe("error");
    expect(await text("let broken = 1; broken")).toBe("1");
  });

  it("takes require, import statements and import()", async () => {
    const code = `import fs, { readFileSync as read } from "node:fs";
import * as path from 'path';
import { join } from "node:path";
import "node:os";
const text = "import x from 'y'"; // import z from "w"
const { sep } = await import("node:path");
[typeof fs.statSync, typeof read, typeof path.join, typeof join, sep, text, \`\${typeof (await import("node:os")).cpus}\`].join()`;
    expect(await text(code)).toBe(`"function,function,function,function,/,import x from 'y',function"`);
    expect(await text(code)).toBe(`"function,function,function,function,/,import x from 'y',function"`);
    expect(await text("const util = require('util'); typeof util.inspect")).toBe("'function'");
    await node(
      "require('fs').writeFileSync('/session/mod.mjs', 'export const v = 5; export default 6'); require('fs').writeFileSync('/session/mod.cjs', 'exports.w = 7')",
    );
    expect(
      await text(
        "import six, { v } from './mod.mjs'; import cjs, { w } from './mod.cjs'; [six, v, w, cjs.w].join()",
      ),
    ).toBe("'6,5,7,7'");
    expect(await text("(await import('./mod.mjs')).v")).toBe("5");
  });

  it("awaits at top level, and the last promise", async () => {
    expect(await text("const late = await new Promise((r) => setTimeout(r, 20, 'waited')); late")).toBe(
      "'waited'",
    );
    expect(await text("late + '!'")).toBe("'waited!'");
    expect(await text("Promise.resolve(7)")).toBe("7");
    expect(await text("(async () => 8)()")).toBe("8");
    expect((await node("for await (const x of [1, 2]) console.log(x)")).stdout).toBe("1\n2\n");
  });

  it("reports errors with the user's own frames", async () => {
    const ran = await node("function inner() {\n  null.x;\n}\ninner()");
    expect(ran.done.status).toBe("error");
    expect(ran.error).toMatchObject({ name: "TypeError" });
    expect(ran.error?.traceback).toMatch(/at inner \(cell-\d+\.js:2:8\)/);
    expect(ran.error?.traceback).not.toMatch(/kernels|node:inspector/);
    const syntax = await node("let q = {\n  a: 1,\n  b c\n}");
    expect(syntax.error?.name).toBe("SyntaxError");
    expect(syntax.error?.traceback).toMatch(/cell-\d+\.js:3\n {2}b c\n {4}\^/);
    expect((await node("throw 5")).error?.value).toBe("5");
    expect((await node("await Promise.reject(new RangeError('r'))")).error?.name).toBe("RangeError");
  });

  it("reports rejections and exceptions that nobody caught, and lives", async () => {
    expect((await node("Promise.reject(new Error('stray')); 1")).error?.value).toBe("stray");
    const timer = await node(
      "setTimeout(() => { throw new Error('in a timer') }, 5); await new Promise((r) => setTimeout(r, 30))",
    );
    expect(timer.error?.value).toBe("in a timer");
    const mark = box.messages.length;
    await node("setTimeout(() => { throw new Error('afterwards') }, 50)");
    await box.message("late", (m) => m.text.includes("afterwards"), mark);
    expect(await text("a")).toBe("10");
  });

  it("never lets an error or an exit of an earlier cell end a later one", async () => {
    const mark = box.messages.length;
    await node(
      "let fire; const left = new Promise((r) => { fire = r });" +
        "left.then(() => { throw new Error('stale rejection') }); left.then(() => process.exit(7));" +
        "const poll = setInterval(() => { if (globalThis.go) { clearInterval(poll); fire(); throw new Error('stale error') } }, 5); 0",
    );
    const ran = await node("globalThis.go = true; await new Promise((r) => setTimeout(r, 100)); 'mine'");
    expect(ran).toMatchObject({ done: { status: "ok" }, error: null, results: [{ "text/plain": "'mine'" }] });
    await box.until(() => box.lateText(mark).includes("stale rejection"));
    expect(box.lateText(mark)).toContain("stale error");
  });

  it("never lets a timer of an earlier cell print into a later one", async () => {
    const mark = box.messages.length;
    await node("globalThis.timer = setInterval(() => console.log('stale'), 5)");
    const ran = await node("await new Promise((r) => setTimeout(r, 100)); console.log('mine')");
    expect(ran.stdout).toBe("mine\n");
    await node("clearInterval(timer)");
    expect(box.lateText(mark)).toContain("stale");
  });

  it("never lets a process that an earlier cell left behind print into a later one", async () => {
    const mark = box.messages.length;
    await node(
      "const { spawn, execSync } = require('child_process');" +
        "const left = spawn('sh', ['-c', 'until [ -e /tmp/go ]; do sleep 0.02; done; echo late; echo worse >&2; touch /tmp/gone'], { stdio: 'inherit' }); 0",
    );
    const ran = await node(
      "console.log('before'); execSync('touch /tmp/go; until [ -e /tmp/gone ]; do sleep 0.02; done; echo child', { stdio: 'inherit' });" +
        "require('fs').writeSync(1, 'raw\\n'); console.log('after'); console.error('mine')",
    );
    expect(ran).toMatchObject({ stdout: "before\nchild\nraw\nafter\n", stderr: "mine\n" });
    await box.until(() => box.lateText(mark).includes("late") && box.lateText(mark).includes("worse"));
  });

  it("gives a cell its output although the one before closed descriptors and removed named pipes", async () => {
    await node("execSync('rm -r /tmp/.sandbar-*'); for (const fd of [1, 2]) require('fs').closeSync(fd)");
    const ran = await node("console.log('out'); execSync('echo child >&2', { stdio: 'inherit' })");
    expect(ran).toMatchObject({ stdout: "out\n", stderr: "child\n" });
  });

  it("displays in order with output", async () => {
    const ran = await node(
      "console.log(1); display({ two: 2 }); console.log(3); display.mime({ 'text/html': '<b>4</b>', 'image/png': Buffer.from('png') })",
    );
    const order = ran.events.flatMap((e) =>
      e.type === "stdout" ? [e.text.trim()] : e.type === "result" ? [Object.keys(e.data).join()] : [],
    );
    expect(order).toEqual(["1", "text/plain,application/json", "3", "text/html,image/png"]);
  });

  it("cuts text that is too long and says how long it was; what cannot be cut is left out and named", async () => {
    const ran = await node(
      "display.mime({ 'text/markdown': 'm'.repeat(999) + '😀', 'text/html': 'h'.repeat(1001), 'image/png': Buffer.alloc(900) }); " +
        "display(['j'.repeat(1000)]); 'y'.repeat(5_000_000)",
      { mime_value_limit: 1000 },
    );
    expect(ran.results).toEqual([
      { "text/markdown": "m".repeat(999) },
      { "text/plain": `[\n  '${"j".repeat(995)}` },
      { "text/plain": `'${"y".repeat(999)}` },
    ]);
    expect(ran.done.totals).toMatchObject({
      results_dropped: 3,
      result: 5_000_002,
      left_out: { "text/html": 1001, "image/png": 1200, "application/json": 1004 },
    });
    expect((await node("'z'.repeat(900_000)")).results).toEqual([
      { "text/plain": `'${"z".repeat(900_000)}'` },
    ]);
  });

  it("treats process.exit as the end of the code", async () => {
    expect((await node("process.exit(); console.log('no')")).done).toMatchObject({
      status: "ok",
      exit_code: 0,
    });
    expect((await node("process.exit(3)")).done).toMatchObject({ status: "error", exit_code: 3, exit: null });
    expect(
      (await node("setTimeout(() => process.exit(4), 5); await new Promise(() => {})")).done.exit_code,
    ).toBe(4);
    expect(await text("a")).toBe("10");
  });

  it("interrupts loops, promises and child processes; variables stay", async () => {
    for (const code of [
      "while (true) {}",
      "await new Promise(() => {})",
      "await 1; while (true) {}",
      "await new Promise((r) => setTimeout(r, 10)); while (true) {}",
      "setTimeout(() => { while (true) {} }, 10); await new Promise((r) => setTimeout(r, 60_000))",
      "require('child_process').execSync('sleep 60')",
      "await new Promise((r) => setTimeout(r, 10)); require('child_process').execSync('sleep 60')",
      "try { while (true) {} } catch { while (true) {} }",
    ]) {
      const ran = await interrupted(code);
      expect([code, ran.done.status]).toEqual([code, "interrupted"]);
      expect(await text("a")).toBe("10");
    }
  });

  it("prints on after an interrupt in the middle of printing, and after a write that failed", async () => {
    expect((await interrupted("while (true) console.log('x'.repeat(1000))")).done.status).toBe("interrupted");
    expect((await node("console.log('out')")).stdout).toBe("out\n");
    await node(
      "for (const fd of [1, 2]) require('fs').closeSync(fd); console.log('to nobody'); console.error('to nobody')",
    );
    expect(await node("console.log('out'); console.error('err')")).toMatchObject({
      stdout: "out\n",
      stderr: "err\n",
    });
  });

  it("dies of a signal to itself that leaves it unable to run code, and comes back fresh", async () => {
    for (const signal of ["SIGINT", "SIGWINCH"]) {
      const ran = await node(`process.kill(process.pid, '${signal}'); 1`);
      expect([signal, ran.done.status]).toEqual([signal, "died"]);
      expect(await text("1 + 1")).toBe("2");
    }
    await node("const a = 10");
  });

  it("cuts an error that is too long, and says how long it was", async () => {
    const ran = await node("throw new Error('x'.repeat(20_000_000))");
    expect(ran.error?.value.length).toBeLessThan(20_000);
    expect(ran.done.totals.error).toBe(20_000_000);
    expect(ran.done.totals.traceback).toBeGreaterThan(20_000_000);
  });

  it("says that it ran out of heap, which is not a crash", async () => {
    const env = { NODE_OPTIONS: "--max-old-space-size=32" };
    box.send({ type: "context.open", context: "small", language: "node", env });
    for (const before of ["", "process.stderr.write('x'.repeat(1e6)); "]) {
      const hungry = `${before}const kept = []; for (;;) kept.push(new Array(1e4).fill({}))`;
      const ran = await node(hungry, { context: "small", stream_limit: 1000 });
      expect(ran.done).toMatchObject({ status: "died", exit: { signal: 6, oom: true } });
    }
    const later = "setTimeout(() => { const kept = []; for (;;) kept.push(new Array(1e4).fill({})) }, 50); 0";
    const mark = box.messages.length;
    await node(later, { context: "small" });
    const lost = await box.message("context", (m) => m.context === "small" && m.lost !== null, mark);
    expect(lost.lost?.exit).toMatchObject({ signal: 6, oom: true });
    const own = await node("process.stderr.write('heap out of memory\\n'); process.abort()", {
      context: "small",
    });
    expect(own.done).toMatchObject({ status: "died", exit: { signal: 6, oom: false } });
    box.send({ type: "context.close", context: "small" });
  });

  it("is killed when it swallows the interrupt", async () => {
    const execution = box.start(
      "process.on('SIGINT', () => {}); console.log('on'); process.kill(process.pid, 'SIGSTOP')",
      { language: "node" },
    );
    await box.until(() => box.eventsOf(execution).some((e) => e.type === "stdout"));
    box.send({ type: "kill", execution });
    expect((await box.finish(execution)).done).toMatchObject({ status: "died", exit: { signal: 9 } });
    expect((await node("typeof a")).results).toEqual([{ "text/plain": "'undefined'" }]);
  });

  it("gives stdin and environment to one execution", async () => {
    expect((await node("require('fs').readFileSync(0, 'utf8')", { stdin: "in" })).results).toEqual([
      { "text/plain": "'in'" },
    ]);
    expect(
      (await node("for await (const c of process.stdin) console.log('got ' + c)", { stdin: "streamed" }))
        .stdout,
    ).toBe("got streamed\n");
    expect(
      (
        await node("require('child_process').execSync('cat', { stdio: ['inherit', 'pipe'] }).toString()", {
          stdin: "child",
        })
      ).results,
    ).toEqual([{ "text/plain": "'child'" }]);
    expect((await node("require('fs').readFileSync(0, 'utf8')")).results).toEqual([{ "text/plain": "''" }]);
    expect((await node("process.env.ONLY", { env: { ONLY: "e" } })).results).toEqual([
      { "text/plain": "'e'" },
    ]);
    expect((await node("process.env.ONLY")).results).toEqual([]);
  });

  it("lives on after code that removes every listener, and after a stack that cannot be had", async () => {
    await node("const before = 'yes'; process.removeAllListeners(); process.exitCode = 3");
    expect(await node("Promise.reject(new Error('nobody caught me'))")).toMatchObject({
      done: { status: "error", exit: null },
      error: { value: "nobody caught me" },
    });
    await node("process.removeAllListeners('SIGINT'); process.removeAllListeners('uncaughtException')");
    const waiting = box.start("await new Promise(() => setTimeout(() => {}, 60_000))", { language: "node" });
    await box.until(() => box.eventsOf(waiting).length);
    box.send({ type: "interrupt", execution: waiting });
    expect((await box.finish(waiting)).done.status).toBe("interrupted");
    expect((await node("process.exit()")).done).toMatchObject({ status: "ok", exit_code: 0 });
    const odd = await node("Error.prepareStackTrace = () => { throw 1 }; throw new TypeError('told')");
    expect(odd.error).toMatchObject({ name: "TypeError", value: "told" });
    expect((await node("Error.prepareStackTrace = undefined; before")).results).toEqual([
      { "text/plain": "'yes'" },
    ]);
  });

  it("hears an interrupt that comes before the code has begun", async () => {
    for (let i = 0; i < 3; i++) {
      box.send({ type: "context.open", context: `early${i}`, language: "node", env: {} });
      await box.message("context", ({ context, state }) => context === `early${i}` && state === "ready");
      const execution = box.start("await new Promise(() => setTimeout(() => {}, 60_000))", {
        language: "node",
        context: `early${i}`,
      });
      box.send({ type: "interrupt", execution });
      expect((await box.finish(execution)).done.status).toBe("interrupted");
      box.send({ type: "context.close", context: `early${i}` });
    }
  });

  it("takes code that begins with a byte order mark", async () => {
    expect((await node("\ufeff'\ufeff'.length")).results).toEqual([{ "text/plain": "1" }]);
  });

  it("lists its state without running anybody's code", async () => {
    await node(
      "let n = 1; const s = 'text'; let trap = new Proxy({}, { get() { while (true) {} } });" +
        "const evil = { get x() { while (true) {} }, [Symbol.for('nodejs.util.inspect.custom')]() { while (true) {} } }; import 'node:zlib'",
    );
    const answer = await box.call("state", { context: "node", timeout_ms: 1000 });
    const state = answer.result as {
      variables: { name: string; type: string; repr: string; size: number | null }[];
      imports: string[];
      cwd: string;
    };
    const byName = Object.fromEntries(state.variables.map((v) => [v.name, v]));
    expect(byName.n).toMatchObject({ type: "number", repr: "1" });
    expect(byName.s).toMatchObject({ type: "string", repr: "'text'", size: 4 });
    expect(byName.trap?.repr).toContain("Proxy");
    expect(byName.evil?.repr).toContain("[Getter]");
    expect(state.imports).toContain("node:zlib");
    expect(state.cwd).toBe("/session");
    await node("let never = (() => { throw 1 })()");
    const more = (await box.call("state", { context: "node" })).result as typeof state;
    expect(more.variables.find((v) => v.name === "never")?.repr).toBe("<not readable>");
    await node("for (let i = 0; i < 600; i++) globalThis[`many${i}`] = i");
    const many = (await box.call("state", { context: "node" })).result as typeof state & { total: number };
    expect(many.variables).toHaveLength(500);
    expect(many.total).toBeGreaterThan(600);
    await node("for (let i = 0; i < 600; i++) delete globalThis[`many${i}`]");
  });

  it("takes huge output and a huge value", async () => {
    const ran = await node(
      "for (let i = 0; i < 50; i++) console.log('x'.repeat(1_000_000)); 'y'.repeat(5_000_000)",
      { stream_limit: 1000 },
    );
    expect(ran.done).toMatchObject({ status: "ok", totals: { stdout: 50_000_050 } });
    expect(ran.stdout).toHaveLength(1000);
  });
});

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { RunOptions } from "./fixture.ts";
import { Sandbox, sleep } from "./fixture.ts";

let box: Sandbox;
beforeAll(async () => {
  box = await Sandbox.start({ image: "sandbar/r:latest" });
}, 60_000);
afterAll(async () => {
  const { refused } = box;
  await box.stop();
  expect(refused).toEqual([]);
});

const r = (code: string, options: RunOptions = {}) => box.run(code, { ...options, language: "r" });
const text = async (code: string) => (await r(code)).results.at(-1)?.["text/plain"];

describe("an R kernel", () => {
  it("keeps variables and gives visible values", async () => {
    expect((await r("x <- 5; invisible(9)")).results).toEqual([]);
    const ran = await r("x + 1\n'ü'");
    expect(ran.results).toEqual([{ "text/plain": "[1] 6" }, { "text/plain": '[1] "ü"' }]);
    expect(ran.done).toMatchObject({ status: "ok", exit_code: null });
  });

  it("takes lines that end as on Windows, and the mark that begins a file there", async () => {
    expect(await text("\ufeff1 + 1")).toBe("[1] 2");
    const ran = await r("v <- c(\r\n  1,\r\n  2)\r\ncat(nchar('a\r\nb'))\r\nsum(v)\r\n");
    expect(ran).toMatchObject({ stdout: "3", error: null, results: [{ "text/plain": "[1] 3" }] });
  });

  it("streams output, messages and warnings while the code runs", async () => {
    const execution = box.start(
      "cat('tick 1\\n'); while (!file.exists('/tmp/tick')) Sys.sleep(0.05); cat('tick 2\\n')\nmessage('note')\nwarning('careful')\nlog(-1)",
      { language: "r" },
    );
    await box.printed(execution);
    box.exec("touch", "/tmp/tick");
    const ran = await box.finish(execution);
    expect(ran.stdout).toBe("tick 1\ntick 2\n");
    expect(ran.stderr).toBe("note\nWarning: careful\nWarning in log(-1): NaNs produced\n");
  });

  it("keeps output, values and plots in order", async () => {
    const ran = await r("cat('a\\n')\n1\ncat('b\\n')\nplot(1:3)\ncat('c\\n')\n2");
    const order = ran.events.flatMap((e) =>
      e.type === "stdout"
        ? [e.text.trim()]
        : e.type === "result"
          ? [e.data["image/png"] ? "plot" : e.data["text/plain"]]
          : [],
    );
    expect(order).toEqual(["a", "[1] 1", "b", "plot", "c", "[1] 2"]);
    expect(String(ran.results[1]?.["image/png"])).toMatch(/^iVBORw0KGgo[A-Za-z0-9+/=]+$/);
  });

  it("draws base plots once, however many expressions make them, and ggplots", async () => {
    expect(
      (await r("plot(1:10)\nlines(10:1)\ntitle('t')\ninvisible(0)")).results.length,
    ).toBeGreaterThanOrEqual(1);
    const ran = await r("library(ggplot2)\nggplot(mtcars, aes(mpg, wt)) + geom_point()");
    expect(ran.results).toHaveLength(1);
    expect(ran.results[0]).toHaveProperty("image/png");
  });

  it("gives data frames as text, HTML and JSON", async () => {
    const ran = await r("data.frame(n = c(1.5, NA), s = c('<b>', 'y'))");
    expect(ran.results[0]).toMatchObject({
      "text/plain": expect.stringContaining("1.5"),
      "text/html": expect.stringContaining("<td>&lt;b&gt;</td>"),
      "application/json": [
        { n: 1.5, s: "<b>" },
        { n: null, s: "y" },
      ],
    });
    expect((await r("data.frame()")).done.status).toBe("ok");
    expect((await r("tibble::tibble(a = 1:2)")).results[0]).toHaveProperty("application/json");
  });

  it("reports errors with a traceback, syntax errors with the place", async () => {
    const ran = await r(
      "f <- function() g()\ng <- function() stop('deep')\ncat('before\\n')\nf()\ncat('after\\n')",
    );
    expect(ran.stdout).toBe("before\n");
    expect(ran.done.status).toBe("error");
    expect(ran.error).toMatchObject({ name: "Error", value: "deep" });
    expect(ran.error?.traceback).toContain("1. f()\n2. g()");
    expect((await r("x <- (")).error?.value).toContain("unexpected end of input");
    expect(await text("x")).toBe("[1] 5");
  });

  it("interrupts and keeps the workspace", async () => {
    for (const code of [
      "repeat {}",
      "Sys.sleep(60)",
      "system('sleep 60'); Sys.sleep(60)",
      "tryCatch(Sys.sleep(60), error = function(e) 1)",
    ]) {
      const execution = box.start(`kept <- 'yes'; message('go'); ${code}`, { language: "r" });
      await box.printed(execution);
      await sleep(200);
      box.send({ type: "interrupt", execution });
      const ran = await box.finish(execution);
      expect([code, ran.done.status]).toEqual([code, "interrupted"]);
    }
    expect(await text("kept")).toBe('[1] "yes"');
  });

  it("does not mind SIGINT while idle", async () => {
    box.exec(
      "sh",
      "-c",
      "for p in /proc/[0-9]*; do grep -q kernels/[r] $p/cmdline && kill -INT ${p#/proc/}; done; true",
    );
    await sleep(100);
    expect(await text("kept")).toBe('[1] "yes"');
  });

  it("treats q() as the end of the code", async () => {
    expect((await r("quit(status = 3)")).error).toMatchObject({ name: "Exit", value: "3" });
    expect((await r("q()")).done).toMatchObject({ status: "ok", exit_code: 0 });
    expect((await r("quit(status = 3)")).done).toMatchObject({ status: "error", exit_code: 3, exit: null });
    expect(await text("kept")).toBe('[1] "yes"');
  });

  it("lives on after code that closes every connection, aborts, debugs or unloads what it runs on", async () => {
    await r("kept <- 'yes'");
    for (const code of [
      "closeAllConnections()",
      "closeAllConnections(); for (i in 1:5) assign(paste0('f', i), file('/dev/null', 'w+')); 1",
      "closeAllConnections()",
      "browser()",
      "f <- function() { browser(); 1 }; f()",
      "sink(file('/tmp/messages', 'w'), type = 'message')",
      "unloadNamespace('evaluate')",
      "unlink(tempdir(), recursive = TRUE)",
    ]) {
      const ran = await r(`cat('before\\n')\n${code}`);
      expect([code, ran.done.status, ran.stdout]).toEqual([code, "ok", "before\n"]);
    }
    const after = await r("for (i in 1:2) cat('shown\\n'); message('told'); plot(1)\nkept");
    expect(after).toMatchObject({ stdout: "shown\nshown\n", stderr: "told\n", error: null });
    expect(after.results).toMatchObject([{ "image/png": expect.any(String) }, { "text/plain": '[1] "yes"' }]);
    expect(await r("cat('a\\n'); invokeRestart('abort'); cat('b\\n')")).toMatchObject({
      stdout: "a\n",
      done: { status: "error", exit: null },
      error: { name: "Abort" },
    });
    expect(await text("kept")).toBe('[1] "yes"');
  });

  it("shows values as R itself would: by the user's own methods", async () => {
    await r(
      "print.boom <- function(x, ...) cat('<boom>\\n'); format.money <- function(x, ...) paste0('$', unclass(x))",
    );
    expect(await text("structure(1, class = 'boom')")).toBe("<boom>");
    const table = await r("data.frame(m = structure(2:3, class = 'money'))");
    expect(table.results[0]).toMatchObject({ "text/html": expect.stringContaining("<td>$2</td>") });
  });

  it("draws after code that closed all devices", async () => {
    for (const code of ["graphics.off(); plot(1)", "graphics.off()\nplot(1)", "dev.off()\nplot(1)"]) {
      const pictures = (await r(code)).results.filter((data) => "image/png" in data);
      expect([code, pictures.length]).toEqual([code, 1]);
    }
  });

  it("reports any condition as an error, whatever its message is", async () => {
    expect((await r("stop('a\\xffb')")).error).toMatchObject({ name: "Error", value: "a<ff>b" });
    const odd = (message: string) =>
      r(`stop(structure(class = c('odd', 'error', 'condition'), list(message = ${message}, call = NULL)))`);
    expect((await odd("NULL")).error).toMatchObject({ name: "odd", value: "" });
    expect((await odd("c('a', 'b')")).error).toMatchObject({ name: "odd", value: "a\nb" });
  });

  it("lets no process that code forked speak for it", async () => {
    const ran = await r("child <- parallel:::mcfork(); Sys.sleep(0.2)\n2");
    expect(ran.results).toEqual([{ "text/plain": "[1] 2" }]);
    expect(await text("3")).toBe("[1] 3");
  });

  it("ends the code, whoever quits and whatever would catch it", async () => {
    for (const code of [
      "base::quit(status = 5)",
      "tryCatch(q(status = 5), error = function(e) 1)",
      "base::q('no', 5)",
    ]) {
      const ran = await r(`${code}\ncat('not here')`);
      expect(ran).toMatchObject({ stdout: "", done: { status: "error", exit_code: 5, exit: null } });
    }
    expect(await text("kept")).toBe('[1] "yes"');
  });

  it("captures child processes, and gives stdin and environment to one execution", async () => {
    expect(await r("system('echo child; echo oops >&2')")).toMatchObject({
      stdout: "child\n",
      stderr: "oops\n",
    });
    expect((await r("readLines(file('stdin'))", { stdin: "one\ntwo\n" })).results).toEqual([
      { "text/plain": '[1] "one" "two"' },
    ]);
    expect((await r("system('cat', intern = TRUE)", { stdin: "for the child\n" })).results).toEqual([
      { "text/plain": '[1] "for the child"' },
    ]);
    expect((await r("readLines(file('stdin'))")).results).toEqual([{ "text/plain": "character(0)" }]);
    expect((await r("Sys.getenv('ONLY')", { env: { ONLY: "here" } })).results).toEqual([
      { "text/plain": '[1] "here"' },
    ]);
    expect(await text("Sys.getenv('ONLY')")).toBe('[1] ""');
  });

  it("never lets a process that an earlier cell left behind print into a later one", async () => {
    const mark = box.messages.length;
    await r(
      "system('(until [ -e /tmp/go ]; do sleep 0.02; done; echo late; echo worse >&2; touch /tmp/gone) &')",
    );
    const ran = await r(
      "cat('before\\n'); system('touch /tmp/go; until [ -e /tmp/gone ]; do sleep 0.02; done; echo child'); cat('after\\n'); message('mine')",
    );
    expect(ran).toMatchObject({ stdout: "before\nchild\nafter\n", stderr: "mine\n" });
    await box.until(() => box.lateText(mark).includes("late") && box.lateText(mark).includes("worse"));
  });

  it("cuts text that is too long and says how long it was; what cannot be cut is left out and named", async () => {
    const ran = await r("strrep('ü', 5000)\ndata.frame(s = strrep('x', 5000))", { mime_value_limit: 1000 });
    expect(ran.results).toEqual([
      { "text/plain": `[1] "${"ü".repeat(995)}` },
      { "text/plain": expect.stringMatching(/^.{1000}$/s) },
    ]);
    expect(ran.done.totals).toMatchObject({
      results_dropped: 2,
      left_out: { "text/html": expect.any(Number), "application/json": 5010 },
    });
    expect(ran.done.totals.result).toBeGreaterThan(5005);
  });

  it("takes long code and long output", async () => {
    const ran = await r(
      `y <- "${"é".repeat(300_000)}"\nnchar(y)\nfor (i in 1:200) cat(strrep("x", 100000))`,
      { stream_limit: 1000 },
    );
    expect(ran.results).toEqual([{ "text/plain": "[1] 300000" }]);
    expect(ran.done.totals.stdout).toBe(20_000_000);
  });

  it("lists its state", async () => {
    await r("makeActiveBinding('loops', function() repeat {}, globalenv()); n <- 1:3");
    const answer = await box.call("state", { context: "r", timeout_ms: 10_000 });
    const state = answer.result as {
      variables: { name: string; type: string; repr: string; size: number | null }[];
      imports: string[];
      cwd: string;
    };
    const byName = Object.fromEntries(state.variables.map((v) => [v.name, v]));
    expect(byName.n).toMatchObject({ type: "integer", repr: "int [1:3] 1 2 3" });
    expect(byName.loops?.type).toBe("active binding");
    expect(state.imports).toContain("ggplot2");
    expect(state.cwd).toBe("/session");
    await r("for (i in 1:600) assign(paste0('many', i), i)");
    const many = (await box.call("state", { context: "r", timeout_ms: 10_000 })).result as typeof state & {
      total: number;
    };
    expect(many.variables).toHaveLength(500);
    expect(many.total).toBeGreaterThan(600);
    await r("rm(list = ls(pattern = '^many'))");

    await r(
      "a_slow <- structure(1, class = 'slow'); b_deaf <- structure(2, class = 'deaf'); z <- 3\n" +
        "registerS3method('str', 'slow', function(object, ...) repeat {})\n" +
        "registerS3method('str', 'deaf', function(object, ...) repeat tryCatch(repeat {}, error = function(e) NULL))",
    );
    const slow = await box.call("state", { context: "r", timeout_ms: 1000 });
    const reprs = Object.fromEntries((slow.result as typeof state).variables.map((v) => [v.name, v.repr]));
    expect(reprs).toMatchObject({
      a_slow: "<str did not come in time>",
      b_deaf: "<str did not come in time>",
      n: "<not read: time was up>",
      z: "<not read: time was up>",
    });
    await r("rm(a_slow, b_deaf)");
  });

  it("dies with a reason and comes back", async () => {
    const ran = await r("cat('before\\n'); tools::pskill(Sys.getpid(), 9)");
    expect(ran.done).toMatchObject({ status: "died", exit: { signal: 9, oom: false } });
    expect(await text("exists('kept')")).toBe("[1] FALSE");
  });
});

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

  it("takes lines that end as on Windows", async () => {
    const ran = await r("v <- c(\r\n  1,\r\n  2)\r\ncat(nchar('a\r\nb'))\r\nsum(v)\r\n");
    expect(ran).toMatchObject({ stdout: "3", error: null, results: [{ "text/plain": "[1] 3" }] });
  });

  it("streams output, messages and warnings while the code runs", async () => {
    const ran = await r(
      "for (i in 1:3) { cat('tick', i, '\\n'); Sys.sleep(0.05) }\nmessage('note')\nwarning('careful')\nlog(-1)",
    );
    expect(ran.stdout).toBe("tick 1 \ntick 2 \ntick 3 \n");
    expect(ran.stderr).toBe("note\nWarning: careful\nWarning in log(-1): NaNs produced\n");
    expect(ran.events.filter((e) => e.type === "stdout").length).toBeGreaterThan(1);
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
      "kept <- 'yes'; repeat {}",
      "Sys.sleep(60)",
      "system('sleep 60'); Sys.sleep(60)",
      "tryCatch(Sys.sleep(60), error = function(e) 1)",
    ]) {
      const execution = box.start(code, { language: "r" });
      await box.until(() => box.eventsOf(execution).length);
      await sleep(200);
      box.send({ type: "interrupt", execution });
      const ran = await box.finish(execution, 3000);
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
    expect((await r("q()")).done).toMatchObject({ status: "ok", exit_code: 0 });
    expect((await r("quit(status = 3)")).done).toMatchObject({ status: "error", exit_code: 3, exit: null });
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

  it("leaves out values that are too large", async () => {
    const ran = await r("strrep('x', 5000)", { mime_value_limit: 1000 });
    expect(ran.results).toEqual([]);
    expect(ran.done.totals.results_dropped).toBe(1);
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
    const answer = await box.call("state", { context: "r", timeout_ms: 2000 });
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
  });

  it("dies with a reason and comes back", async () => {
    const ran = await r("cat('before\\n'); tools::pskill(Sys.getpid(), 9)");
    expect(ran.done).toMatchObject({ status: "died", exit: { signal: 9, oom: false } });
    expect(await text("exists('kept')")).toBe("[1] FALSE");
  });
});

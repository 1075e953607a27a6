import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunOptions, Sandbox } from "./fixture.ts";
import { dump, fates, load, Refused } from "./saved-state.ts";

const boxes: Sandbox[] = [];
afterAll(async () => {
  const refused = boxes.flatMap((box) => box.refused);
  await Promise.all(boxes.map((box) => box.stop()));
  expect(refused).toEqual([]);
});

async function sandbox(image: string) {
  const box = await Sandbox.start({ image });
  boxes.push(box);
  return box;
}

let box: Sandbox;
beforeAll(async () => {
  box = await sandbox("sandbar/node:latest");
}, 60_000);

/** A context in which the code has run, and another with its variables. */
async function copied(box: Sandbox, language: string, format: string, code: string) {
  const said = (options: RunOptions) => ({ language, ...options });
  expect((await box.run(code, said({ context: `${language}-from` }))).error).toBe(null);
  const saved = await dump(box, `${language}-from`);
  expect(saved).toMatchObject({ alive: true, language, format, size: saved.bytes.length });
  const loaded = await load(box, `${language}-to`, language, format, saved.bytes);
  const run = async (more: string, context = `${language}-to`) => {
    const { results, stdout, error } = await box.run(more, said({ context }));
    return error ? `${error.name}: ${error.value}` : (results[0]?.["text/plain"] ?? stdout.trim());
  };
  return { saved, loaded, run };
}

/** What is no state of this language is refused by name, and the context works. */
async function refusesOthers(box: Sandbox, language: string, format: string, bytes: Buffer) {
  for (const wrong of [bytes.subarray(0, -5), bytes.subarray(0, 10), Buffer.from("what is this")]) {
    const error = await load(box, `${language}-wrong`, language, format, wrong).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(Refused);
    expect(error).toMatchObject({ code: "SNAPSHOT_DAMAGED" });
  }
  expect(
    (await box.run(language === "bash" ? "echo 2" : "1 + 1", { context: `${language}-wrong`, language }))
      .error,
  ).toBe(null);
}

describe("variables of a Node context", () => {
  it("come back with what they share, functions and classes by source, and the rest is told", async () => {
    const { saved, loaded, run } = await copied(
      box,
      "node",
      "node-v8/1",
      `
import fs from "node:fs";
const path = require("node:path");
const { join } = require("node:path");
const shared = [1, 2];
let both = { a: shared, b: shared, when: new Date(0), map: new Map([[1, shared]]), big: 10n, bytes: Buffer.from("hi") };
var counter = 1;
loose = "no declaration";
const add = (x) => x + counter;
function twice(x) { return add(add(x)); }
class Point { constructor(x) { this.x = x; } get double() { return this.x * 2; } }
class Far extends Point { far() { return true; } }
const point = new Point(3);
const closed = (() => { let c = 0; return () => ++c; })();
const bound = add.bind(null);
const withMethod = { go() {} };
const lazy = { get now() { throw new Error("ran"); } };
const proxy = new Proxy({}, { ownKeys() { throw new Error("ran"); } });
const promise = new Promise(() => {});
const itself = {}; itself.me = itself;
process.chdir("/tmp"); process.env.COLOR = "blue"; delete process.env.HOME;
`,
    );
    const told = fates(saved);
    for (const name of [
      "shared",
      "both",
      "counter",
      "loose",
      "add",
      "twice",
      "Point",
      "Far",
      "itself",
      "fs",
      "path",
      "join",
    ])
      expect([name, told[name]]).toEqual([name, "saved"]);
    expect(told.point).toBe("degraded: instances of Point become plain objects");
    expect(told.closed).toMatch(/^lost: it closes over/);
    for (const name of ["bound", "withMethod", "lazy", "proxy", "promise"])
      expect(told[name]).toMatch(/^lost: /);
    expect(fates(loaded)).toEqual(told);
    expect(loaded.environment).toEqual({ cwd: "/tmp", set: ["COLOR"], unset: ["HOME"] });
    expect(await run("both.a === shared && both.map.get(1) === shared && itself.me === itself")).toBe("true");
    expect(
      await run("counter = 10; [twice(1), new Far(2).double, new Far(2).far(), new Far(1) instanceof Point]"),
    ).toBe("[ 21, 4, true, true ]");
    expect(
      await run("[both.when.getTime(), both.big, both.bytes.toString(), loose, point.x, point.double]"),
    ).toBe("[ 0, 10n, 'hi', 'no declaration', 3, undefined ]");
    expect(
      await run(
        "[join('a', 'b'), path.sep, fs.existsSync('/'), process.cwd(), process.env.COLOR, process.env.HOME]",
      ),
    ).toBe("[ 'a/b', '/', true, '/tmp', 'blue', undefined ]");
    expect(await run("const shared = 5; let both = 6; shared + both")).toBe("11");
    await refusesOthers(box, "node", "node-v8/1", saved.bytes);
  });
});

describe("variables of an R context", () => {
  let box: Sandbox;
  beforeAll(async () => {
    box = await sandbox("sandbar/r:latest");
  }, 60_000);

  it("come back with closures, classes and packages, and what points outside of R is told", async () => {
    const { saved, loaded, run } = await copied(
      box,
      "r",
      "r-serialize/1",
      `
library(data.table)
x <- 1:10
f <- function() x[[1]] <<- x[[1]] + 1L
make <- function() { n <- 0; list(up = function() n <<- n + 1, get = function() n) }
count <- make(); invisible(count$up())
frame <- data.frame(a = 1:3, b = c("u", "v", "w"))
dt <- data.table(k = 1:3)
setClass("Shape", representation(n = "numeric"))
setGeneric("area", function(s) standardGeneric("area"))
setMethod("area", "Shape", function(s) s@n * 2)
shape <- new("Shape", n = 4)
text <- textConnection("abc")
db <- DBI::dbConnect(RSQLite::SQLite(), ":memory:")
makeActiveBinding("now", function() stop("ran"), globalenv())
.hidden <- "kept"
set.seed(1)
setwd("/tmp"); Sys.setenv(COLOR = "blue"); Sys.unsetenv("HOME")
`,
    );
    const told = fates(saved);
    for (const name of ["x", "f", "count", "frame", "dt", "shape", ".hidden", "data.table"])
      expect([name, told[name]]).toEqual([name, "saved"]);
    for (const name of ["text", "db", "now"]) expect(told[name]).toMatch(/^lost: /);
    expect(told).not.toHaveProperty(".Random.seed");
    expect(fates(loaded)).toEqual(told);
    expect(loaded.environment).toEqual({ cwd: "/tmp", set: ["COLOR"], unset: ["HOME"] });
    expect(
      await run("f(); cat(x[1], count$up(), count$get(), area(shape), nrow(frame), dt[k > 1, .N], .hidden)"),
    ).toBe("2 2 2 8 3 2 kept");
    expect(
      await run("cat(getwd(), Sys.getenv('COLOR'), Sys.getenv('HOME', NA), exists('.Random.seed'))"),
    ).toBe("/tmp blue NA FALSE");
    await refusesOthers(box, "r", "r-serialize/1", saved.bytes);
  });
});

describe("variables of a bash context", () => {
  it("come back with functions, aliases, options, traps and the folder; jobs are told", async () => {
    const { saved, loaded, run } = await copied(
      box,
      "bash",
      "bash-declare/1",
      `
name='a "quoted" \\ value'; code=7
list=(1 "two words" $'three\\nlines')
declare -A map=([k]=v ["a b"]=c); declare -i n=5; readonly fixed=1
export COLOR=blue; unset HOME
greet() { echo "hello $1"; }
shopt -s expand_aliases nullglob; alias shout='echo LOUD'; set -u
trap 'echo usr1' USR1; trap 'echo bye' EXIT
cd /tmp; sleep 300 &
`,
    );
    const told = fates(saved);
    for (const name of ["name", "code", "list", "map", "n", "fixed", "COLOR", "greet", "shout"])
      expect([name, told[name]]).toEqual([name, "saved"]);
    expect(Object.entries(told).filter(([, fate]) => fate.startsWith("lost"))).toEqual([
      [expect.stringMatching(/^job \d+$/), "lost: a job cannot be saved"],
    ]);
    expect(fates(loaded)).toEqual(told);
    expect(loaded.environment).toEqual({ cwd: "/tmp", set: ["COLOR"], unset: ["HOME"] });
    expect(
      await run(`echo "$name|$code|\${#list[@]}|\${list[2]}|\${map[a b]}"; n=n+1; echo $n; greet you; pwd`),
    ).toBe('a "quoted" \\ value|7|3|three\nlines|c\n6\nhello you\n/tmp');
    expect(
      await run(`shout; echo "$COLOR-\${HOME-gone}"; kill -USR1 $$; shopt -q nullglob && echo glob; echo $-`),
    ).toMatch(/^LOUD\nblue-gone\nusr1\nglob\n\w*u/);
    await refusesOthers(box, "bash", "bash-declare/1", saved.bytes);
    expect(await run("echo $name", "bash-from")).toBe('a "quoted" \\ value');
  });
});

describe("variables that would not fit beside themselves", () => {
  it("are not saved, and stay", async () => {
    const language = "node";
    await box.run("const big = Buffer.alloc(280e6, 1); const small = 1", { context: "big", language });
    const error = await dump(box, "big").catch((reason: unknown) => reason);
    expect(error).toMatchObject({ message: expect.stringContaining("too little memory left") });
    const { results } = await box.run("big[5] + small", { context: "big", language });
    expect(results).toEqual([{ "text/plain": "2" }]);
  });
});

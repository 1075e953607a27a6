import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GUEST_ANSWERS } from "../../shared/src/wire/guest-calls.ts";
import { Sandbox } from "./fixture.ts";

/** The code, with `|` where the cursor is. */
async function complete(box: Sandbox, context: string, marked: string) {
  const cursor = marked.indexOf("|");
  const code = marked.replace("|", "");
  const { result, error } = await box.call("complete", { context, code, cursor });
  if (error) throw new Error(error);
  const answer = GUEST_ANSWERS.complete.parse(result);
  return {
    ...answer,
    cursor,
    texts: answer.matches.map(({ text }) => text),
    replaced: code.slice(answer.start, answer.end),
    of: (text: string) => answer.matches.find((match) => match.text === text),
  };
}

function useBox(image: string): () => Sandbox {
  let box: Sandbox;
  beforeAll(async () => {
    box = await Sandbox.start({ image: `sandbar/${image}:latest` });
  }, 60_000);
  afterAll(async () => {
    const { refused } = box;
    await box.stop();
    expect(refused).toEqual([]);
  });
  return () => box;
}

const NOTHING = { matches: [], busy: false };

describe("completion in Python", () => {
  const box = useBox("python");
  const python = (marked: string) => complete(box(), "python", marked);

  it("knows nothing where there is no kernel, and starts none", async () => {
    expect(await python("le|n")).toMatchObject({ ...NOTHING, start: 2, end: 2 });
    expect(box().messages.filter(({ type }) => type === "context")).toEqual([]);
  });

  it("finds names, attributes, keys, modules, files and magics, with their types and signatures", async () => {
    await box().run(
      "import os, json\nclass Cat:\n    def meow(self, loud=True): ...\n    @property\n    def age(self): raise SystemExit\ncat = Cat(); cats = {'tom cat': 1}\nopen('tomato.csv', 'w').close()",
    );
    expect((await python("ca|")).matches).toEqual(
      expect.arrayContaining([
        { text: "cat", type: "instance" },
        { text: "cats", type: "instance" },
      ]),
    );
    const members = await python("print(cat.|)");
    expect(members.of("meow")).toEqual({ text: "meow", type: "function", signature: "(self, loud=True)" });
    expect(members.of("age")).toEqual({ text: "age", type: "property" });
    expect(members).toMatchObject({ start: 10, end: 10 });
    expect(await python("x = os.pa|")).toMatchObject({ replaced: "pa" });
    expect((await python("os.pat|")).of("path")).toEqual({ text: "path", type: "module" });
    expect((await python("impor|")).matches).toEqual([{ text: "import", type: "keyword" }]);
    expect((await python("import js|")).texts).toContain("json");
    expect((await python("cats['to|")).matches).toEqual([{ text: "tom cat", type: "key" }]);
    expect((await python("open('toma|")).matches).toEqual([{ text: "tomato.csv", type: "path" }]);
    expect((await python("%tim|")).of("%timeit")).toEqual({ text: "%timeit", type: "magic" });
    expect((await python("cat.meow(lo|")).of("loud=")?.type).toBe("param");
    expect(await python("def f():\n    retu|rn")).toMatchObject({ replaced: "retu", start: 13, end: 17 });
  });

  it("counts positions in UTF-16 units", async () => {
    const found = await python("s = '😀é'; cat.me|");
    expect(found).toMatchObject({ texts: ["meow"], replaced: "me", end: found.cursor });
    // In the middle of a character.
    const { result } = await box().call("complete", { context: "python", code: "😀", cursor: 1 });
    expect(result).toMatchObject({ start: 0, end: 0 });
    await box().run("größe = 1; 数字 = 2");
    expect(await python("'😀', grö|")).toMatchObject({ texts: ["größe"], replaced: "grö" });
    expect((await python("'\ud83d', 数|")).replaced).toBe("数");
  });

  it("leaves variables, _, history, output and random numbers as they were", async () => {
    await box().run("import random; random.seed(7); 41 + 1");
    const names = async () =>
      (await box().run("sorted(name for name in globals() if not name.startswith('_'))")).results[0]?.[
        "text/plain"
      ];
    const before = await names();
    await box().run("7 * 6");
    const from = box().messages.length;
    for (const marked of ["cat.|", "json.lo|", "%ti|", "from os import pa|", "cats['|"]) await python(marked);
    expect((await box().run("_, In[-2], len(Out)")).results[0]?.["text/plain"]).toMatch(/^\(42, '7 \* 6',/);
    expect(await names()).toBe(before);
    expect((await box().run("random.seed(7); a = random.random(); random.seed(7)")).error).toBeNull();
    await python("random.ran|");
    expect((await box().run("a == random.random()")).results[0]?.["text/plain"]).toBe("True");
    expect(box().lateText(from)).toBe("");
  });

  it("is not harmed by objects that mean harm", async () => {
    await box().run(
      `import os, sys, time
kept = []
class Bad:
    def __dir__(self):
        kept.append(1); print("printed"); os.write(1, b"written")
        return ["one", 2, "x" * 400] + ["n%d" % i for i in range(1000)]
    def __getattr__(self, name): os._exit(1)
class Loop:
    def __dir__(self):
        while True:
            try: time.sleep(60)
            except BaseException: pass
class Exits:
    def __dir__(self): os._exit(3)
class Lies(dict):
    def keys(self): sys.exit(1)
    def __len__(self): os.kill(os.getpid(), 9)
    def _ipython_key_completions_(self): raise KeyboardInterrupt
bad, loop, exits, lies = Bad(), Loop(), Exits(), Lies()`,
    );
    const from = box().messages.length;
    const found = await python("bad.|");
    expect(found.matches.length).toBeLessThanOrEqual(200);
    expect(found.texts.every((text) => text.length <= 300)).toBe(true);
    for (const marked of ["loop.|", "exits.|", "bad.x.y.|"])
      expect(await python(marked), marked).toMatchObject(NOTHING);
    expect(await python("lies['|")).toMatchObject({ busy: false });
    expect((await box().run("kept")).results).toEqual([{ "text/plain": "[]" }]);
    expect(box().lateText(from)).toBe("");
    expect(
      box()
        .top()
        .filter((command) => command.includes("python/main.py")).length,
    ).toBeLessThanOrEqual(1);
  });

  it("makes way for code at once, and says so", async () => {
    const asked = box().call("complete", { context: "python", code: "loop.", cursor: 5 });
    expect((await box().run("1 + 1")).results).toEqual([{ "text/plain": "2" }]);
    expect((await asked).result).toMatchObject({ matches: [], busy: true });
  });

  it("is busy while code runs, which notices nothing", async () => {
    const execution = box().start(
      "import os, time\nprint('runs', flush=True)\nwhile not os.path.exists('/tmp/go'): time.sleep(0.01)\nprint('ends')",
    );
    await box().printed(execution);
    expect(await python("os.pa|")).toMatchObject({ matches: [], busy: true, start: 5, end: 5 });
    box().exec("touch", "/tmp/go");
    expect(await box().finish(execution)).toMatchObject({ stdout: "runs\nends\n", error: null });
    expect(await python("os.pat|")).toMatchObject({ busy: false });
  });
});

describe("completion in bash", () => {
  const box = useBox("python");
  const bash = (marked: string) => complete(box(), "bash", marked);

  it("finds commands, variables and files, quoted as they stand", async () => {
    await box().run(
      "greet() { echo hi; }; whence=here; mkdir 'my folder' deep; touch 'my file' tomato; cd deep; touch $'\\xff' below; cd ..",
      { language: "bash" },
    );
    expect((await bash("gree|")).matches).toEqual([{ text: "greet", type: "command" }]);
    expect(await bash("ls; echo $when|")).toMatchObject({ texts: ["whence"], replaced: "when" });
    expect(await bash('echo "😀 ${when|"')).toMatchObject({ texts: ["whence"], replaced: "when" });
    expect(await bash("cat tom|")).toMatchObject({ matches: [{ text: "tomato", type: "path" }], start: 4 });
    expect((await bash("cat my|")).texts).toEqual(["my\\ file", "my\\ folder/"]);
    expect((await bash("cat 'my f|")).texts).toEqual(["my file", "my folder/"]);
    expect((await bash("cat <my\\ fi|")).texts).toEqual(["my\\ file"]);
    expect((await bash("ls deep/b|")).texts).toEqual(["deep/below"]);
    expect((await bash("ls deep/|")).texts).toContain("deep/below");
    expect(await bash("# ca|")).toMatchObject(NOTHING);
    expect(await bash("__sb_|")).toMatchObject(NOTHING);
  });

  it("leaves the shell as it was, whatever a snippet has set", async () => {
    await box().run(
      "trap 'echo child ended' CHLD; trap 'echo debug' DEBUG; set -eux; compgen() { echo forged; }; printf() { echo forged; }; n=1",
      { language: "bash" },
    );
    const from = box().messages.length;
    for (let i = 0; i < 3; i++) expect((await bash("cat toma|")).texts).toEqual(["tomato"]);
    expect(box().lateText(from)).toBe("");
    const ran = await box().run('set +x; trap - CHLD DEBUG; echo $n $-; echo "$(ls -A /tmp)"', {
      language: "bash",
    });
    expect(ran.stdout).toContain("1 ehuBc");
    expect(ran.stdout).not.toMatch(/\.sandbar-[^s]\S*\n\.sandbar-/);
    expect(ran.done.status).toBe("ok");
  });
});

describe("completion in Node", () => {
  const box = useBox("node");
  const node = (marked: string) => complete(box(), "node", marked);

  it("finds variables, members, keys, keywords and modules", async () => {
    await box().run(
      `const apples = { red: 1, "dark red": 2, get green() { globalThis.ran = true; return 1 }, eat(many, fast = 1) {} };
       let appetite = "text"; class Tree { grow() {} }; const tree = new Tree();
       globalThis.applied = [1, 2]; require("fs").mkdirSync("node_modules/left-pad", { recursive: true });`,
      { language: "node" },
    );
    expect((await node("app|")).texts).toEqual(["appetite", "apples", "applied"]);
    const members = await node("f(apples.|)");
    expect(members.texts.slice(0, 3)).toEqual(["eat", "green", "red"]);
    expect(members.of("green")).toEqual({ text: "green", type: "property" });
    expect((await node("tree.gr|")).matches).toEqual([{ text: "grow", type: "function" }]);
    expect((await node("Tre|")).matches).toEqual([{ text: "Tree", type: "class" }]);
    expect((await node("appetite.toUp|")).texts).toEqual(["toUpperCase"]);
    expect((await node("applied.pu|")).texts).toEqual(["push"]);
    expect((await node("apples['dar|")).matches).toEqual([{ text: "dark red", type: "key" }]);
    expect((await node("apples.green.|")).matches).toEqual([]);
    expect((await node("process?.vers|")).texts).toEqual(["version", "versions"]);
    expect((await node("func|")).of("function")?.type).toBe("keyword");
    expect((await node("require('child_|")).matches).toEqual([{ text: "child_process", type: "module" }]);
    expect((await node('import x from "left|')).texts).toEqual(["left-pad"]);
    expect((await node("require('./node|")).matches).toEqual([{ text: "./node_modules/", type: "path" }]);
    expect(await node("'😀'; apples.re|")).toMatchObject({ texts: ["red"], replaced: "re" });
    expect((await node("a().re|")).matches).toEqual([]);
    expect((await box().run("typeof ran", { language: "node" })).results[0]?.["text/plain"]).toBe(
      "'undefined'",
    );
  });

  it("runs nothing of what it looks at", async () => {
    await box().run(
      `var touched = 0; const count = () => { touched++; };
       const proxy = new Proxy({ a: 1 }, new Proxy({}, { get() { count(); return undefined; } }));
       const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => ["k" + i, i])); const long = new Uint8Array(5e7);
       Object.defineProperty(globalThis, "trap", { get() { count(); return {}; }, configurable: true });
       const inherits = Object.create(proxy); setTimeout(() => {}, 10);`,
      { language: "node" },
    );
    await box().run("touched = 0", { language: "node" });
    for (const marked of ["proxy.|", "proxy['|", "trap.|", "inherits.|", "tr|", "proxy.a.|"])
      await node(marked);
    expect((await node("wide.|")).matches).toHaveLength(200);
    expect((await node("long.|")).texts).toContain("subarray");
    expect((await box().run("touched", { language: "node" })).results[0]?.["text/plain"]).toBe("0");
  });
});

describe("completion in R", () => {
  const box = useBox("r");
  const r = (marked: string) => complete(box(), "r", marked);

  it("finds functions, columns, arguments, packages and files", async () => {
    await box().run(
      "frame <- data.frame(height = 1, heat = 2); frame[['two words']] <- 3; file.create('tomato.csv'); set.seed(1)",
      { language: "r" },
    );
    expect((await r("x <- frame$hea|")).matches).toEqual([{ text: "frame$heat", type: "property" }]);
    expect((await r("frame$tw|")).texts).toEqual(["frame$`two words`"]);
    expect((await r("read.csv(fi|")).of("file=")?.type).toBe("param");
    expect((await r("nchar|")).of("nchar(") ?? (await r("ncha|")).of("nchar")).toMatchObject({
      type: "function",
    });
    expect((await r("stats::rnor|")).matches).toEqual([
      { text: "stats::rnorm", type: "function", signature: "(n, mean = 0, sd = 1)" },
    ]);
    expect((await r("library(stat|")).texts).toContain("stats");
    expect((await r("read.csv('toma|")).matches).toEqual([{ text: "tomato.csv", type: "path" }]);
    expect(await r("a <- '😀é'\n\"😀\"; fram|")).toMatchObject({ texts: ["frame"], replaced: "fram" });
  });

  it("is not harmed by methods that mean harm, and leaves random numbers as they were", async () => {
    await box().run(
      `touched <- 0
.DollarNames.bad <- function(x, pattern) { touched <<- 1; cat("printed"); message("told"); system("echo run"); c("one", "two") }
.DollarNames.loop <- function(x, pattern) repeat tryCatch(Sys.sleep(1), interrupt = function(c) NULL)
.DollarNames.ends <- function(x, pattern) quit(status = 3)
bad <- structure(list(), class = "bad"); loop <- structure(list(), class = "loop"); ends <- structure(list(), class = "ends")
makeActiveBinding("active", function() { touched <<- 1; 1 }, globalenv())
set.seed(1); first <- runif(1); set.seed(1)`,
      { language: "r" },
    );
    const from = box().messages.length;
    expect((await r("bad$o|")).texts).toEqual(["bad$one"]);
    await r("activ|");
    expect(await r("loop$|")).toMatchObject(NOTHING);
    expect(await r("ends$|")).toMatchObject(NOTHING);
    const ran = await box().run("c(touched, first == runif(1))", { language: "r" });
    expect(ran.results).toEqual([{ "text/plain": "[1] 0 1" }]);
    expect(box().lateText(from)).toBe("");
    const asked = box().call("complete", { context: "r", code: "loop$", cursor: 5 });
    expect((await box().run("1 + 1", { language: "r" })).results).toEqual([{ "text/plain": "[1] 2" }]);
    expect((await asked).result).toMatchObject({ matches: [], busy: true });
  });
});

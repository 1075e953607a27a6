"use strict";
// The Node kernel: one request after another, code in this process's own global scope.

const { AsyncLocalStorage } = require("node:async_hooks");
const fs = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const channel = require("./channel.js");
const { evaluate, Thrown } = require("./evaluate.js");
const { rewriteImports } = require("./imports.js");
const interrupts = require("./interrupts.js");
const outputs = require("./outputs.js");
const pipes = require("./pipes.js");
const state = require("./state.js");
const { bundle, describe } = require("./values.js");

class Exit {
  constructor(code) {
    this.code = code;
  }
}

const owner = new AsyncLocalStorage();
const imported = new Set();
const userRequire = createRequire(path.join(process.cwd(), "cell.js"));
let current = null;
let count = 0;

// Globals that a script would have.

function load(specifier) {
  imported.add(specifier);
  const module = userRequire(specifier);
  if (module !== null && typeof module === "object" && module[Symbol.toStringTag] === "Module") return module;
  return { __proto__: null, ...module, default: module };
}

function dynamicImport(specifier, options) {
  imported.add(String(specifier));
  let target = String(specifier);
  try {
    target = userRequire.resolve(target);
    if (path.isAbsolute(target)) target = `file://${encodeURI(target)}`;
  } catch {
    // ESM-only packages have no CommonJS entry: the loader knows better.
  }
  return import(target, options);
}

const define = (name, value) =>
  Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
define("__sandbar_load", load);
define("__sandbar_import", dynamicImport);
define(
  "require",
  Object.assign((specifier) => {
    imported.add(String(specifier));
    return userRequire(specifier);
  }, userRequire),
);
define("module", { exports: {} });
define("exports", globalThis.module.exports);
define("__dirname", process.cwd());
define("__filename", path.join(process.cwd(), "cell.js"));
define("display", (value) => publish(bundle(value, current?.left.value ?? 0)));
globalThis.display.mime = (data) => publish({ ...data });

const canRequireModules = process.features.require_module === true;
const loadExpression = (specifier) =>
  canRequireModules ? `__sandbar_load(${specifier})` : `await __sandbar_import(${specifier})`;

/** Whether what happens now is the running execution's doing, not of one that left a timer or a promise behind. */
function isCurrent() {
  const from = owner.getStore();
  return current !== null && (from === undefined || from === current.id);
}

outputs.install((name, chunk) => {
  // Between executions too: the guest may already have handed the pipe to the next one.
  if (isCurrent()) return false;
  channel.send({ op: "late", stream: name, text: chunk.toString() });
  return true;
});

function publish(data, last = false) {
  if (current === null) return;
  const kept = {};
  for (const [mime, value] of Object.entries(data)) {
    const item =
      Buffer.isBuffer(value) || value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
    const size = (typeof item === "string" ? item : (JSON.stringify(item) ?? "")).length;
    if (size > current.left.value || size > current.left.total) current.dropped++;
    else {
      current.left.total -= size;
      kept[mime] = item;
    }
  }
  if (Object.keys(kept).length === 0) return;
  if (last) channel.send({ op: "result", data: kept });
  else channel.sendAndWait({ op: "result", data: kept, wait: true });
}

// What nobody caught.

function onUncaught(error) {
  if (!isCurrent()) {
    if (!(error instanceof Exit)) process.stderr.write(`Uncaught ${describe(error).traceback}\n`);
  } else if (error instanceof Exit) current.finish({ exit: error.code });
  else current.uncaught.push(error);
}
process.on("uncaughtException", onUncaught);
process.on("unhandledRejection", onUncaught);
process.exit = (code) => {
  throw new Exit(Number(code ?? process.exitCode ?? 0));
};
process.on("SIGINT", () => {
  current?.finish({ interrupted: true });
});

async function run(request) {
  count++;
  const file = `cell-${count}.js`;
  if (request.pipes) pipes.take(request.pipes);
  outputs.refresh();
  const saved = setEnv(request.env);
  if (request.stdin_given) freshStdin();
  const result = await new Promise((resolve) => {
    current = {
      id: request.id,
      left: { value: request.mime_value_limit, total: request.mime_total_limit },
      dropped: 0,
      uncaught: [],
      finish: resolve,
    };
    const code = rewriteImports(request.code, loadExpression, "__sandbar_import");
    interrupts.begin(count, code);
    owner.run(request.id, () =>
      settle(code, file).then(resolve, (error) => setImmediate(resolve, { error })),
    );
  });
  interrupts.end();
  let status = "ok";
  let exitCode = null;
  const failure = result.error === undefined ? current.uncaught[0] : result.error;
  if (result.interrupted) {
    status = "interrupted";
    channel.send({
      op: "error",
      name: "Interrupted",
      value: "the execution was interrupted",
      traceback: "Interrupted",
    });
  } else if (result.exit !== undefined || failure instanceof Exit) {
    exitCode = result.exit ?? failure.code;
    status = exitCode === 0 ? "ok" : "error";
    if (exitCode !== 0)
      channel.send({
        op: "error",
        name: "Exit",
        value: String(exitCode),
        traceback: `process.exit(${exitCode})`,
      });
  } else if ("error" in result || current.uncaught.length > 0) {
    status = "error";
    const described = describe(failure);
    // Code that does not parse has no frame of its own; JSON.parse and its like do.
    if (result.position && !/\bcell-\d+\.js\b/.test(described.traceback))
      described.traceback = `${result.position}\n${described.name}: ${described.value}`;
    channel.send({ op: "error", ...described });
  }
  restoreEnv(saved);
  const { dropped } = current;
  current = null;
  channel.send({ op: "done", id: request.id, status, exit_code: exitCode, dropped });
}

async function settle(code, file) {
  const outcome = await evaluate(`${code}\n//# sourceURL=${file}`);
  if (outcome.interrupted) {
    return { interrupted: true };
  }
  if (outcome instanceof Thrown) {
    // A child process that an interrupt ended fails before the signal's own handler had its turn.
    await new Promise(setImmediate);
    return {
      error: outcome.error,
      position: outcome.error instanceof SyntaxError ? position(code, file, outcome.details) : undefined,
    };
  }
  let { value } = outcome;
  if (value instanceof Promise || typeof value?.then === "function") value = await value;
  // One turn of the loop: rejections that nobody handles are known only then.
  await new Promise(setImmediate);
  if (value !== undefined && current.uncaught.length === 0) publish(bundle(value, current.left.value), true);
  return {};
}

function position(code, file, details) {
  if (!details || typeof details.lineNumber !== "number") return undefined;
  const lines = code.split("\n");
  const row = Math.min(details.lineNumber, lines.length - 1);
  const column = row === details.lineNumber ? details.columnNumber : lines[row].length;
  return `${file}:${row + 1}\n${lines[row].slice(0, 500)}\n${" ".repeat(Math.min(500, column))}^`;
}

function freshStdin() {
  let stream;
  Object.defineProperty(process, "stdin", {
    configurable: true,
    get: () => (stream ??= fs.createReadStream(null, { fd: 0, autoClose: false })),
  });
}

function setEnv(env) {
  const saved = {};
  for (const [key, value] of Object.entries(env)) {
    saved[key] = process.env[key];
    process.env[key] = value;
  }
  return saved;
}

function restoreEnv(saved) {
  for (const [key, value] of Object.entries(saved)) {
    if (value === undefined) delete process.env[key];
    else process.env[key] = value;
  }
}

function enter(folder) {
  try {
    process.chdir(folder);
    channel.send({ op: "answer", result: {} });
  } catch (error) {
    channel.send({ op: "answer", error: error.message });
  }
}

state.markOriginal();
channel.listen((request) => {
  if (request.op === "run") run(request);
  else if (request.op === "enter") enter(request.folder);
  else if (request.op === "state") channel.send({ op: "answer", result: state.snapshot(request, imported) });
});
channel.send({ op: "ready", fresh_pipes: pipes.replaceable });

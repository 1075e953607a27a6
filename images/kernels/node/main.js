"use strict";
// The Node kernel: one request after another, code in this process's own global scope.

const { AsyncLocalStorage } = require("node:async_hooks");
const fs = require("node:fs");
const { createRequire } = require("node:module");
const path = require("node:path");
const { send, sendAndWait, listen: takeRequests } = require("./channel.js");
const { complete } = require("./completion.js");
const { absorbStale, evaluate, hear, Thrown } = require("./evaluate.js");
const { rewriteImports } = require("./imports.js");
const interrupts = require("./interrupts.js");
const outputs = require("./outputs.js");
const pipes = require("./pipes.js");
const state = require("./state.js");
const { bounded, bundle, describe, fitting } = require("./values.js");

class Exit {
  constructor(code) {
    this.code = code;
  }
}

const NO_FILES =
  "the kernel has no file descriptors left to run this code; stop what keeps them open, or restart the context, which loses its variables";

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
globalThis.display.mime = (data) => publish({ data: { ...data }, lengths: {} });

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
  send({ op: "late", stream: name, text: chunk.toString() });
  return true;
});

function publish({ data, lengths }, last = false) {
  if (!isCurrent()) {
    // Of a timer or a promise that an earlier execution left behind.
    send({ op: "late", stream: "stdout", text: `${data["text/plain"] ?? ""}\n` });
    return;
  }
  const kept = {};
  for (const [mime, value] of Object.entries(data)) {
    const item =
      Buffer.isBuffer(value) || value instanceof Uint8Array ? Buffer.from(value).toString("base64") : value;
    const size = (typeof item === "string" ? item : (JSON.stringify(item) ?? "")).length;
    const part = fitting(mime, item, size, Math.min(current.left.value, current.left.total));
    if (part !== item) lengths[mime] ??= size;
    if (part === undefined) continue;
    current.left.total -= part === item ? size : part.length;
    kept[mime] = part;
  }
  if (Object.keys(kept).length + Object.keys(lengths).length === 0) return;
  const result = { op: "result", id: current.id, data: kept, lengths };
  if (last) send(result);
  else sendAndWait({ ...result, wait: true });
}

// What nobody caught.

function onUncaught(error) {
  if (!isCurrent()) {
    if (!(error instanceof Exit)) process.stderr.write(`Uncaught ${describe(error).traceback}\n`);
  } else if (error instanceof Exit) current.finish({ exit: error.code });
  else current.uncaught.push(error);
}

const onInterrupt = () => {
  hear();
  current?.finish({ interrupted: true });
};
function listen(event, listener) {
  if (!process.listeners(event).includes(listener)) process.on(event, listener);
}
function listenToErrors() {
  listen("uncaughtException", onUncaught);
  listen("unhandledRejection", onUncaught);
}
listenToErrors();
listen("SIGINT", onInterrupt);
// Without ours, the next error that nobody catches would end the kernel. Those of SIGINT are not for us here: `vm` takes them away too.
const { removeAllListeners } = process;
process.removeAllListeners = (...events) => {
  // These two are Node's own, and no signal would be heard without them.
  const all = process.eventNames().filter((event) => event !== "newListener" && event !== "removeListener");
  for (const event of events.length > 0 ? events : all) removeAllListeners.call(process, event);
  listenToErrors();
  return process;
};
process.exit = (code) => {
  throw new Exit(Number(code ?? process.exitCode ?? 0));
};

/** Only who shows the token ends the execution: it stays in this closure, where code does not reach. */
async function run({ token, ...request }) {
  count++;
  const file = `cell-${count}.js`;
  try {
    if (request.pipes) pipes.take(request.pipes);
  } catch (error) {
    send({ op: "error", token, ...describe(error), value: `${error.message}: ${NO_FILES}` });
    send({ op: "done", token, status: "error", exit_code: null });
    return;
  }
  absorbStale(request.interrupts);
  outputs.refresh();
  process.exitCode = undefined;
  const saved = setEnv(request.env);
  if (request.stdin_given) freshStdin();
  const result = await new Promise((resolve) => {
    current = {
      id: request.id,
      left: { value: request.mime_value_limit, total: request.mime_total_limit },
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
  listen("SIGINT", onInterrupt);
  // One turn of the loop: a signal that is still on its way to us is this execution's.
  if (result.interrupted) for (let i = 0; i < 2; i++) await new Promise(setImmediate);
  outputs.flush();
  let status = "ok";
  let exitCode = null;
  const failure = result.error === undefined ? current.uncaught[0] : result.error;
  if (result.interrupted) {
    status = "interrupted";
    send({
      op: "error",
      token,
      name: "Interrupted",
      value: "the execution was interrupted",
      traceback: "Interrupted",
    });
  } else if (result.exit !== undefined || failure instanceof Exit) {
    exitCode = result.exit ?? failure.code;
    status = exitCode === 0 ? "ok" : "error";
    if (exitCode !== 0)
      send({
        op: "error",
        token,
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
    send({ op: "error", token, ...bounded(described) });
  }
  restoreEnv(saved);
  current = null;
  send({ op: "done", token, status, exit_code: exitCode });
}

async function settle(code, file) {
  const mine = current;
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
  if (current === mine && value !== undefined && mine.uncaught.length === 0)
    publish(bundle(value, mine.left.value), true);
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
    send({ op: "answer", result: {} });
  } catch (error) {
    send({ op: "answer", error: error.message });
  }
}

function answerCompletion(request) {
  const answer = { op: "answer", ask: request.ask };
  try {
    send({ ...answer, result: complete(request, userRequire.resolve.paths("x") ?? []) });
  } catch (error) {
    send({ ...answer, error: String(error?.message) });
  }
}

/** A value that a module is, or exports: its specifier, and the name of the export. */
function moduleOf(value) {
  if (value === null || (typeof value !== "object" && typeof value !== "function")) return undefined;
  for (const specifier of imported) {
    let module;
    try {
      module = userRequire(specifier);
    } catch {
      continue;
    }
    if (module === value) return [specifier, null];
    if (module === null || (typeof module !== "object" && typeof module !== "function")) continue;
    // What `import * as` gives is another object for each import.
    if (
      value[Symbol.toStringTag] === undefined &&
      Object.getPrototypeOf(value) === null &&
      value.default === module
    )
      return [specifier, "*"];
    for (const [key, { value: exported }] of Object.entries(Object.getOwnPropertyDescriptors(module)))
      if (exported === value && typeof value !== "object") return [specifier, key];
  }
  return undefined;
}

function loadModule(specifier, key) {
  if (key === "*") return load(specifier);
  imported.add(specifier);
  const module = userRequire(specifier);
  return key === null ? module : module[key];
}

/** What code changes of it later is its state, too. */
const born = { ...process.env };

async function carryState(request) {
  const { dumpState, loadState } = require("./saved_state.js");
  await (request.op === "dump" ? dumpState(request, born, moduleOf) : loadState(request, born, loadModule));
  send({ op: "answer", ask: request.ask, result: {} });
}

state.markOriginal();
takeRequests((request) => {
  if (request.op === "run") void run(request);
  else if (request.op === "enter") enter(request.folder);
  else if (request.op === "state") send({ op: "answer", result: state.snapshot(request, imported) });
  else if (request.op === "complete") answerCompletion(request);
  else if (request.op === "dump" || request.op === "load") void carryState(request);
});
send({ op: "ready", fresh_pipes: pipes.replaceable });

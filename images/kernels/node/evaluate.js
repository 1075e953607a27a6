"use strict";
// V8's own REPL mode, through the inspector: top-level await, and `const`, `let` and `class` that may be declared again.

const inspector = require("node:inspector");
const vm = require("node:vm");

const { kill } = process;
const { wait } = Atomics;
const nap = new Int32Array(new SharedArrayBuffer(4));
const STALE_MS = 200;
const session = new inspector.Session();
session.connect();

const BRIDGE = "__sandbar_bridge";
let received;
Object.defineProperty(globalThis, BRIDGE, { value: (value) => (received = value), enumerable: false });

function post(method, params) {
  let answer;
  session.post(method, params, (error, result) => {
    answer = error ? { error } : result;
  });
  return answer;
}

/** The value itself, not the inspector's description of it. */
function grab(remote) {
  if (remote.objectId === undefined) {
    if (remote.type === "undefined") return undefined;
    if (remote.unserializableValue === undefined) return remote.subtype === "null" ? null : remote.value;
    const text = remote.unserializableValue;
    return remote.type === "bigint" ? BigInt(text.slice(0, -1)) : Number(text);
  }
  const kind = remote.type === "symbol" ? "function (v) { " : "function () { ";
  post("Runtime.callFunctionOn", {
    objectId: remote.objectId,
    functionDeclaration: `${kind}"use strict"; globalThis.${BRIDGE}(this); }`,
  });
  post("Runtime.releaseObject", { objectId: remote.objectId });
  const value = received;
  received = undefined;
  return value;
}

class Thrown {
  constructor(error, details) {
    this.error = error;
    this.details = details;
  }
}

/** A process that signals itself runs Node's exit hooks first, and with them goes the inspector: nothing more can be evaluated. */
function leaveIfBroken() {
  const { error } = post("Runtime.evaluate", { expression: "0" }) ?? {};
  // An exit would wait for the watcher, which waits for the inspector.
  if (error?.message.includes("Cannot find context")) kill(process.pid, "SIGKILL");
}

let heard = 0;
/** A SIGINT has ended code, or found none to end. */
const hear = () => heard++;

let pending;
function begin() {
  if (pending === null) {
    wait(nap, 0, 0, STALE_MS);
    return;
  }
  const { expression, settle } = pending;
  session.post("Runtime.evaluate", { expression, replMode: true, userGesture: false }, (error, result) => {
    // SIGINT, or the watcher, ended the code.
    if (error) settle({ interrupted: true });
    else if (result.exceptionDetails) {
      const { exceptionDetails } = result;
      settle(
        new Thrown(
          exceptionDetails.exception ? grab(exceptionDetails.exception) : new Error(exceptionDetails.text),
          exceptionDetails,
        ),
      );
    } else settle({ value: grab(result.result) });
  });
}
const script = new vm.Script("globalThis.__sandbar_begin()");
Object.defineProperty(globalThis, "__sandbar_begin", { value: begin, enumerable: false });

/** A SIGINT that comes just as `vm` stops watching for it ends what `vm` runs next. So if one was sent that nobody heard, that is this. */
function absorbStale(sent) {
  if (sent > heard) {
    pending = null;
    try {
      script.runInThisContext({ breakOnSigint: true });
    } catch {
      // It was one.
    }
  }
  heard = sent;
}

/** Runs what is synchronous at once, interruptible by SIGINT; the promise is for what is not. */
function evaluate(expression) {
  return new Promise((settled, reject) => {
    const resolve = (outcome) => {
      if (outcome.interrupted) leaveIfBroken();
      settled(outcome);
    };
    let early = null;
    let settle = (outcome) => {
      early = outcome;
    };
    pending = { expression, settle: (outcome) => settle(outcome) };
    try {
      script.runInThisContext({ breakOnSigint: true });
      settle = resolve;
      if (early !== null) resolve(early);
    } catch (error) {
      // Also when the code came to an end of its own because the signal ended what it waited for.
      if (error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED") {
        hear();
        resolve({ interrupted: true });
      } else reject(error);
    }
  });
}

function lexicalNames() {
  return post("Runtime.globalLexicalScopeNames", {})?.names ?? [];
}

/** A variable's value and the inspector's description; runs no user code. */
function lookup(name) {
  const answer = post("Runtime.evaluate", { expression: name, throwOnSideEffect: true, silent: true });
  if (!answer || answer.error || answer.exceptionDetails) return null;
  const { type, subtype, className } = answer.result;
  return { kind: className ?? subtype ?? type, value: grab(answer.result) };
}

let handed;
Object.defineProperty(globalThis, "__sandbar_handed", { value: () => handed, enumerable: false });

/** A variable of that value, or of what the source is; the answer is what went wrong. */
function declare(name, value, source, kind) {
  handed = value;
  const text = source === undefined ? "globalThis.__sandbar_handed()" : `(${source}\n)`;
  const expression = kind ? `${kind} ${name} = ${text};` : `globalThis[${JSON.stringify(name)}] = ${text};`;
  return new Promise((resolve) => {
    session.post("Runtime.evaluate", { expression, replMode: true, silent: true }, (error, result) => {
      handed = undefined;
      const { exception, text: said } = result?.exceptionDetails ?? {};
      resolve(error ? error.message : (exception?.description?.split("\n", 1)[0] ?? said));
    });
  });
}

/** Of a lexical variable. Nothing of the user's runs when it is assigned to itself. */
function isConstant(name) {
  const answer = post("Runtime.evaluate", { expression: `${name} = ${name}`, silent: true });
  return answer?.exceptionDetails?.exception?.className === "TypeError";
}

/** A function that uses nothing but globals. */
function isOfNoScope(value) {
  handed = value;
  const remote = post("Runtime.evaluate", { expression: "globalThis.__sandbar_handed()" })?.result;
  handed = undefined;
  const inner = post("Runtime.getProperties", {
    objectId: remote?.objectId,
    ownProperties: true,
  })?.internalProperties;
  const scopes = inner?.find(({ name }) => name === "[[Scopes]]")?.value;
  const found =
    post("Runtime.getProperties", { objectId: scopes?.objectId, ownProperties: true })?.result ?? [];
  for (const { objectId } of [remote, scopes].filter(Boolean)) post("Runtime.releaseObject", { objectId });
  const known = found.filter(({ name }) => /^\d+$/.test(name)).map(({ value: scope }) => scope.description);
  return known.length > 0 && known.every((scope) => NO_SCOPES.has(scope));
}
const NO_SCOPES = new Set(["Global", "Script"]);

module.exports = {
  absorbStale,
  declare,
  isConstant,
  isOfNoScope,
  evaluate,
  hear,
  lexicalNames,
  lookup,
  Thrown,
};

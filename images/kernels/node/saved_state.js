"use strict";
// The variables as one stream of structured clones, and back: what two of them share is one object again. No user code runs: what would
// need some (getters, proxies) is lost.

const fs = require("node:fs");
const { isProxy } = require("node:util").types;
const v8 = require("node:v8");
const { declare, isConstant, isOfNoScope, lexicalNames, lookup } = require("./evaluate.js");
const { globals } = require("./state.js");

const { getOwnPropertyDescriptors, getPrototypeOf } = Object;
const sourceOf = Function.prototype.call.bind(Function.prototype.toString);
const MAGIC = "sandbar node-v8/1\n";
const REPORTED = 2000;
const NODES = 2_000_000;
const SMALL_BYTES = 64 * 1024 * 1024;
const KEPT = new Set(
  [
    ...[
      Object,
      Array,
      Map,
      Set,
      Date,
      RegExp,
      Boolean,
      Number,
      String,
      BigInt,
      ArrayBuffer,
      SharedArrayBuffer,
    ],
    ...[Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, Buffer, DataView],
    ...[Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array],
    ...[Float32Array, Float64Array, BigInt64Array, BigUint64Array],
  ].map((kind) => kind.prototype),
);

const USAGE = [
  ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"],
  ["/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"],
];

function names() {
  return [...new Set([...lexicalNames(), ...globals()])].filter((name) => !name.startsWith("__sandbar"));
}

const kindOf = (value) =>
  value === null ? "null" : typeof value === "object" ? className(value) : typeof value;
function className(value) {
  if (isProxy(value)) return "Proxy";
  const prototype = getPrototypeOf(value);
  const descriptor =
    prototype === null ? undefined : Object.getOwnPropertyDescriptor(prototype, "constructor");
  return typeof descriptor?.value === "function" ? String(descriptor.value.name || "Object") : "Object";
}

/** Everything that is reachable, without a getter: why it cannot be saved, and what it will not be any more. */
function look(root) {
  const seen = new Set();
  const waiting = [root];
  const instances = new Set();
  while (waiting.length > 0) {
    const value = waiting.pop();
    if (typeof value === "function") return { lost: "it has a function in it" };
    if (typeof value === "symbol") return { lost: "it has a symbol in it" };
    if (value === null || typeof value !== "object" || seen.has(value)) continue;
    if (isProxy(value)) return { lost: "a proxy would have to run code" };
    seen.add(value);
    if (seen.size > NODES) return { lost: `it has more than ${NODES} objects` };
    const prototype = getPrototypeOf(value);
    if (prototype !== null && !KEPT.has(prototype)) instances.add(className(value));
    if (ArrayBuffer.isView(value)) continue;
    if (value instanceof Map && KEPT.has(prototype))
      for (const pair of Map.prototype.entries.call(value)) waiting.push(...pair);
    if (value instanceof Set && KEPT.has(prototype)) waiting.push(...Set.prototype.values.call(value));
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length; i++) {
        const descriptor = Object.getOwnPropertyDescriptor(value, i);
        if (descriptor === undefined) continue;
        if (!("value" in descriptor)) return { lost: "a getter would have to run code" };
        waiting.push(descriptor.value);
      }
      continue;
    }
    for (const descriptor of Object.values(getOwnPropertyDescriptors(value))) {
      if (!descriptor.enumerable) continue;
      if (!("value" in descriptor)) return { lost: "a getter would have to run code" };
      waiting.push(descriptor.value);
    }
  }
  return { instances };
}

/** How a function or class can be declared again: by its source, when it stands for itself. */
function sourceFor(value) {
  if (isProxy(value)) return { lost: "a proxy would have to run code" };
  const source = sourceOf(value);
  if (/\{\s*\[native code\]\s*\}\s*$/.test(source))
    return { lost: "a function of Node's own, or a bound one, has no source" };
  if (!isOfNoScope(value)) return { lost: "it closes over variables of another function" };
  const own = Object.keys(value).length > 0;
  return { source, degraded: own ? "it is declared again; its properties are not" : undefined };
}

const entry = (name, type, status, reason) => ({
  name: name.slice(0, 200),
  type: String(type).slice(0, 200),
  status,
  ...(reason === undefined ? {} : { reason: reason.slice(0, 300) }),
});

function reported(entries) {
  const order = { lost: 0, degraded: 1, saved: 2 };
  const sorted = [...entries].sort((a, b) => order[a.status] - order[b.status]);
  return { variables: sorted.slice(0, REPORTED), more: Math.max(0, sorted.length - REPORTED) };
}

/** `born`: the environment that the process began with. */
function surroundings(born) {
  const now = { ...process.env };
  let cwd = null;
  try {
    cwd = process.cwd();
  } catch {}
  return {
    cwd,
    set: Object.fromEntries(Object.entries(now).filter(([key, value]) => born[key] !== value)),
    unset: Object.keys(born).filter((key) => !(key in now)),
  };
}
const named = ({ cwd, set, unset }) => ({ cwd, set: Object.keys(set), unset });

/** The stream is made in memory, beside the variables: a kernel that dies of that would have lost them. */
function mustHaveRoom() {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  const wanted = heapUsed + arrayBuffers;
  if (wanted < SMALL_BYTES) return;
  const files = USAGE.find(([most]) => fs.existsSync(most));
  if (files === undefined) return;
  const [most, now] = files.map((file) => Number(fs.readFileSync(file, "utf8")));
  const free = most - now;
  if (free < wanted)
    throw new Error(`the sandbox has too little memory left: ${free >> 20} MB, for ${wanted >> 20} MB`);
}

function dump(born, modules, tell, write) {
  mustHaveRoom();
  const entries = [];
  const head = { node: process.versions.node, ...surroundings(born), sources: [], modules: [], lexical: [] };
  const lexical = new Set(lexicalNames());
  const values = [];
  for (const name of names()) {
    tell({ at: name.slice(0, 200) });
    const found = lookup(name);
    if (found === null) {
      entries.push(entry(name, "?", "lost", "it cannot be read without running code"));
      continue;
    }
    const { value } = found;
    const specifier = modules(value);
    if (specifier !== undefined) {
      head.modules.push([name, ...specifier]);
      entries.push(entry(name, "module", "saved"));
    } else if (typeof value === "function") {
      const { source, lost, degraded } = sourceFor(value);
      if (lost === undefined) head.sources.push([name, source]);
      entries.push(
        entry(name, "function", lost ? "lost" : degraded ? "degraded" : "saved", lost ?? degraded),
      );
    } else {
      const { lost, instances } = look(value);
      let reason = lost;
      // Of what has other prototypes only a try tells whether it can be cloned at all.
      if (reason === undefined && instances.size > 0)
        try {
          v8.serialize(value);
        } catch (error) {
          reason = String(error?.message ?? error);
        }
      if (reason === undefined) values.push([name, value]);
      const plain = instances?.size
        ? `instances of ${[...instances].join(", ")} become plain objects`
        : undefined;
      entries.push(
        entry(name, kindOf(value), reason ? "lost" : plain ? "degraded" : "saved", reason ?? plain),
      );
    }
    if (lexical.has(name)) head.lexical.push([name, isConstant(name) ? "const" : "let"]);
  }
  const said = { ...reported(entries), environment: named(head) };
  const serializer = new v8.DefaultSerializer();
  serializer.writeHeader();
  serializer.writeValue({ ...head, said, names: values.map(([name]) => name) });
  for (const [, value] of values) serializer.writeValue(value);
  serializer.writeValue("end");
  write(Buffer.from(MAGIC));
  write(serializer.releaseBuffer());
  return said;
}

async function load(born, bytes, loadModule) {
  if (bytes.subarray(0, MAGIC.length).toString() !== MAGIC)
    throw new Error("it is not the state of a Node context");
  const deserializer = new v8.DefaultDeserializer(bytes.subarray(MAGIC.length));
  deserializer.readHeader();
  const head = deserializer.readValue();
  const values = head.names.map((name) => [name, deserializer.readValue()]);
  if (deserializer.readValue() !== "end") throw new Error("it is cut short");
  Object.assign(process.env, head.set);
  for (const key of head.unset) delete process.env[key];
  try {
    if (head.cwd !== null) process.chdir(head.cwd);
  } catch {}
  const kinds = new Map(head.lexical);
  const lost = new Map();
  const give = async (name, value) => {
    const failure = await declare(name, value, undefined, kinds.get(name));
    if (failure !== undefined) lost.set(name, failure);
  };
  for (const [name, specifier, key] of head.modules) {
    try {
      await give(name, loadModule(specifier, key));
    } catch (error) {
      lost.set(name, String(error?.message ?? error));
    }
  }
  for (const [name, value] of values) await give(name, value);
  // A class may extend one that comes later.
  let left = head.sources;
  for (let before = -1; left.length > 0 && left.length !== before; ) {
    before = left.length;
    const again = [];
    for (const [name, source] of left) {
      const failure = await declare(name, undefined, source, kinds.get(name));
      if (failure === undefined) lost.delete(name);
      else lost.set(name, failure);
      if (failure !== undefined) again.push([name, source]);
    }
    left = again;
  }
  const variables = head.said.variables.map((known) =>
    lost.has(known.name) ? entry(known.name, known.type, "lost", lost.get(known.name)) : known,
  );
  return { ...reported(variables), more: head.said.more, environment: named(surroundings(born)) };
}

/** `data` and `report` are named pipes of the guest's, which hears how it goes on the second. */
async function carry(request, work) {
  const report = fs.openSync(request.report, "w");
  const tell = (message) => fs.writeFileSync(report, `${JSON.stringify(message)}\n`);
  try {
    const data = fs.openSync(request.data, request.op === "dump" ? "w" : "r");
    try {
      tell({ opened: true });
      tell({ done: await work(data, tell) });
    } finally {
      fs.closeSync(data);
    }
  } catch (error) {
    tell({ failed: String(error?.message ?? error).slice(0, 1000) });
  } finally {
    fs.closeSync(report);
  }
}

const dumpState = (request, born, modules) =>
  carry(request, (data, tell) => dump(born, modules, tell, (bytes) => fs.writeFileSync(data, bytes)));
const loadState = (request, born, loadModule) =>
  carry(request, (data) => load(born, fs.readFileSync(data), loadModule));

module.exports = { dumpState, loadState };

"use strict";
// The namespace as a list. Nothing here runs user code: no getters, no custom inspection, no proxy traps.

const util = require("node:util");
const { lexicalNames, lookup } = require("./evaluate.js");

const SAFE = {
  depth: 1,
  maxArrayLength: 10,
  maxStringLength: 200,
  customInspect: false,
  getters: false,
  showProxy: true,
  breakLength: Infinity,
};

const original = new Set(Object.getOwnPropertyNames(globalThis));

function globals() {
  return Object.getOwnPropertyNames(globalThis).filter((name) => {
    if (original.has(name)) return false;
    const descriptor = Object.getOwnPropertyDescriptor(globalThis, name);
    return descriptor !== undefined && "value" in descriptor;
  });
}

function sizeOf(value) {
  if (typeof value === "string") return value.length;
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return value.byteLength;
  return null;
}

function snapshot(request, imports) {
  const variables = [];
  const names = [...new Set([...lexicalNames(), ...globals()])].filter(
    (name) => !name.startsWith("__sandbar"),
  );
  for (const name of names.slice(0, request.variables)) {
    const found = lookup(name);
    if (found === null) {
      variables.push({ name, type: "?", repr: "<not readable>", size: null });
      continue;
    }
    let repr;
    let size = null;
    try {
      repr = util.inspect(found.value, SAFE).slice(0, request.repr);
      size = util.types.isProxy(found.value) ? null : sizeOf(found.value);
    } catch {
      repr = "<not shown>";
    }
    variables.push({ name, type: found.kind, repr, size });
  }
  let cwd = "";
  try {
    cwd = process.cwd();
  } catch {}
  return { variables, total: names.length, imports: [...imports], cwd };
}

/** What is global now is the kernel's, not the user's. */
function markOriginal() {
  for (const name of Object.getOwnPropertyNames(globalThis)) original.add(name);
}

module.exports = { globals, snapshot, markOriginal };

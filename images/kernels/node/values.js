"use strict";
// Values as MIME bundles, errors as name, value and a stack without our own frames.

const util = require("node:util");

const { inspect, types } = util;
const { stringify, parse } = JSON;
const { getPrototypeOf, prototype: objectPrototype } = Object;

function bundle(value, limit) {
  const data = {
    "text/plain": inspect(value, {
      depth: 4,
      maxArrayLength: 200,
      maxStringLength: 20_000,
      breakLength: 100,
    }),
  };
  if (value !== null && typeof value === "object" && !types.isProxy(value)) {
    const parent = getPrototypeOf(value);
    if (Array.isArray(value) || parent === objectPrototype || parent === null) {
      try {
        const text = stringify(value);
        if (text !== undefined && text.length <= limit) data["application/json"] = parse(text);
      } catch {
        // Cycles, BigInt, a toJSON that throws: the text says it.
      }
    }
  }
  return data;
}

function describe(error) {
  if (error === null || typeof error !== "object" || types.isProxy(error)) {
    const text = inspect(error);
    return { name: "Error", value: text, traceback: `Uncaught ${text}` };
  }
  let name = "Error";
  let value = "";
  let stack = "";
  try {
    name = String(error.name ?? error.constructor?.name ?? "Error");
    value = String(error.message ?? "");
    stack = typeof error.stack === "string" ? error.stack : inspect(error);
  } catch {
    value = "an error that cannot be read";
  }
  return { name, value, traceback: ownFrames(stack) };
}

function ownFrames(stack) {
  const lines = stack.split("\n");
  const end = lines.findIndex((line) => /^\s+at .*(node:inspector|\/kernels\/node\/)/.test(line));
  return (end < 0 ? lines : lines.slice(0, end))
    .filter((line) => !/^\s+at .*node:internal/.test(line))
    .join("\n");
}

module.exports = { bundle, describe };

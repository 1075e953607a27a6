"use strict";
// Values as MIME bundles, errors as name, value and a stack without our own frames.

const util = require("node:util");

const { inspect, types } = util;
const { stringify, parse } = JSON;
const { getPrototypeOf, prototype: objectPrototype } = Object;

/** A value's forms, and the lengths of those that are not whole. */
function bundle(value, limit) {
  if (typeof value === "string") {
    const shown = value.slice(0, limit);
    const text = inspect(shown, { breakLength: 100, maxStringLength: Infinity });
    const missing = value.length - shown.length;
    return {
      data: { "text/plain": text },
      lengths: missing > 0 ? { "text/plain": text.length + missing } : {},
    };
  }
  const lengths = {};
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
        if (text?.length > limit) lengths["application/json"] = text.length;
        else if (text !== undefined) data["application/json"] = parse(text);
      } catch {
        // Cycles, BigInt, a toJSON that throws: the text says it.
      }
    }
  }
  return { data, lengths };
}

/** The value itself, as much of its text as there is room for, or undefined: half an image, page or JSON is none. */
function fitting(mime, value, size, room) {
  if (size <= room) return value;
  if (typeof value !== "string" || !mime.startsWith("text/") || mime === "text/html" || room < 1)
    return undefined;
  return value.slice(0, room).replace(/[\ud800-\udbff]$/, "");
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
  } catch {
    value = "an error that cannot be read";
  }
  try {
    stack = typeof error.stack === "string" ? error.stack : inspect(error);
  } catch {
    stack = `${name}: ${value}`;
  }
  return { name, value, traceback: ownFrames(stack) };
}

const ERROR_CHARS = 1_000_000;

/** What the guest cuts anyway, at a length that fits its lines. */
function bounded({ name, value, traceback }) {
  const lengths = {};
  if (value.length > ERROR_CHARS) lengths.error = value.length;
  if (traceback.length > ERROR_CHARS) lengths.traceback = traceback.length;
  const half = ERROR_CHARS / 2;
  const ends = lengths.traceback ? traceback.slice(0, half) + traceback.slice(-half) : traceback;
  return { name, value: value.slice(0, ERROR_CHARS), traceback: ends, lengths };
}

function ownFrames(stack) {
  const lines = stack.split("\n");
  const end = lines.findIndex((line) => /^\s+at .*(node:inspector|\/kernels\/node\/)/.test(line));
  return (end < 0 ? lines : lines.slice(0, end))
    .filter((line) => !/^\s+at .*node:internal/.test(line))
    .join("\n");
}

module.exports = { bounded, bundle, describe, fitting };

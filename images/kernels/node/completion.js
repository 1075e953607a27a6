"use strict";
// What could stand at the cursor. Nothing here runs user code: no getters, no proxy traps.

const fs = require("node:fs");
const { builtinModules } = require("node:module");
const path = require("node:path");
const { isArrayBufferView, isProxy, isStringObject } = require("node:util").types;
const { lexicalNames, lookup } = require("./evaluate.js");

const { getOwnPropertyDescriptor, getOwnPropertyNames, getPrototypeOf } = Object;
const { isArray } = Array;
/** An array and a string themselves. */
const PROTOTYPES = new Set([Array.prototype, String.prototype]);
const sourceOf = Function.prototype.call.bind(Function.prototype.toString);

const NAME = "[\\p{ID_Start}$_][\\p{ID_Continue}$\\u200c\\u200d]*";
const CHAIN = `(${NAME}(?:\\s*\\??\\.\\s*${NAME})*)`;
const IS_NAME = new RegExp(`^${NAME}$`, "u");
const MODULE = /(?:\brequire\s*\(|\bimport\s*\(|\bfrom|\bimport)\s*(["'`])([^"'`\n]*)$/;
const MEMBER = new RegExp(`(?<![.\\w$)\\]}"'\`]\\s*)${CHAIN}\\s*\\??\\.\\s*(${NAME})?$`, "u");
const KEY = new RegExp(`(?<![.\\w$)\\]}"'\`]\\s*)${CHAIN}\\s*(?:\\?\\.)?\\[\\s*(["'])([^"'\\n]*)$`, "u");
const WORD = new RegExp(`(?<!\\.\\s*)(?<![\\p{ID_Continue}$.])(${NAME})?$`, "u");
const SIGNATURE = /^(?:async\s*)?(?:function\b\s*\*?\s*[\w$]*\s*)?(\([^()]*\))/;
const KEYWORDS =
  "async await break case catch class const continue debugger default delete do else export extends false finally for function if import in instanceof let new null of return static super switch this throw true try typeof undefined var void while with yield".split(
    " ",
  );
const CHAIN_LENGTH = 50;
const FILES = 5000;

/** A property without its getter; undefined when there is none, or nobody can tell. */
function descriptorOf(object, name) {
  for (let at = boxed(object), i = 0; at !== null && i < CHAIN_LENGTH; at = getPrototypeOf(at), i++) {
    if (isProxy(at)) return undefined;
    const descriptor = getOwnPropertyDescriptor(at, name);
    if (descriptor !== undefined) return descriptor;
  }
  return undefined;
}

const boxed = (value) => (value === null || value === undefined ? null : Object(value));

function kindOf(value) {
  if (typeof value !== "function") return "instance";
  return !isProxy(value) && sourceOf(value).startsWith("class") ? "class" : "function";
}

function describe(name, descriptor) {
  if (descriptor === undefined) return { text: name, type: null };
  if (!("value" in descriptor)) return { text: name, type: "property" };
  return { text: name, ...typed(descriptor.value) };
}

function typed(value) {
  const type = kindOf(value);
  if (type !== "function" || isProxy(value)) return { type };
  const signature = SIGNATURE.exec(sourceOf(value).slice(0, 400))?.[1];
  // The built-in ones show no parameters.
  return signature === undefined || signature === "()" ? { type } : { type, signature };
}

/** The object that a chain of names leads to. */
function resolve(chain) {
  const [first, ...rest] = chain.split(/\s*\??\.\s*/u);
  let value;
  if (first === "this" || first === "globalThis") value = globalThis;
  else {
    const found = lookup(first);
    if (found === null) return undefined;
    value = found.value;
  }
  for (const name of rest) {
    const descriptor = descriptorOf(value, name);
    if (descriptor === undefined || !("value" in descriptor)) return undefined;
    value = descriptor.value;
  }
  return value;
}

/** Its own properties first, then those that it inherits. */
function* members(value) {
  const seen = new Set();
  for (let at = boxed(value), i = 0; at !== null && i < CHAIN_LENGTH; at = getPrototypeOf(at), i++) {
    if (isProxy(at)) return;
    // Millions of indexes are of no use to anybody.
    const indexed = isArray(at) || isArrayBufferView(at) || isStringObject(at);
    const names = indexed && !PROTOTYPES.has(at) ? ["length"] : getOwnPropertyNames(at);
    for (const name of names.sort()) {
      if (seen.has(name)) continue;
      seen.add(name);
      yield [name, getOwnPropertyDescriptor(at, name)];
    }
  }
}

function memberMatches(value, prefix, fits) {
  const matches = [];
  for (const [name, descriptor] of members(value))
    if (name.startsWith(prefix) && fits(name)) matches.push(describe(name, descriptor));
  return matches;
}

function wordMatches(prefix) {
  const matches = new Map();
  for (const name of lexicalNames().sort())
    if (name.startsWith(prefix)) {
      const found = lookup(name);
      matches.set(name, { text: name, ...(found === null ? { type: null } : typed(found.value)) });
    }
  for (const [name, descriptor] of members(globalThis))
    if (name.startsWith(prefix) && IS_NAME.test(name) && !name.startsWith("__sandbar") && !matches.has(name))
      matches.set(name, describe(name, descriptor));
  for (const name of KEYWORDS)
    if (name.startsWith(prefix) && !matches.has(name)) matches.set(name, { text: name, type: "keyword" });
  return [...matches.values()];
}

function entriesOf(folder) {
  try {
    return fs.readdirSync(folder, { withFileTypes: true }).slice(0, FILES);
  } catch {
    return [];
  }
}

function moduleMatches(prefix, folders) {
  const names = new Map();
  const add = (text, type) => text.startsWith(prefix) && names.set(text, { text, type });
  if (prefix.startsWith(".") || prefix.startsWith("/")) {
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    for (const entry of folder === "" ? [] : entriesOf(path.resolve(folder)))
      add(`${folder}${entry.name}${entry.isDirectory() ? "/" : ""}`, "path");
  } else {
    for (const name of builtinModules) if (!name.startsWith("_")) add(name, "module");
    if (prefix.startsWith("node:"))
      for (const name of builtinModules) add(`node:${name.replace(/^node:/, "")}`, "module");
    for (const folder of folders)
      for (const { name } of entriesOf(folder)) {
        if (name.startsWith("@"))
          for (const inner of entriesOf(path.join(folder, name))) add(`${name}/${inner.name}`, "module");
        else if (!name.startsWith(".")) add(name, "module");
      }
  }
  return [...names.values()].sort((a, b) => (a.text < b.text ? -1 : 1));
}

function find(before, folders) {
  const module = MODULE.exec(before);
  if (module) return [module[2], moduleMatches(module[2], folders)];
  const key = KEY.exec(before);
  if (key) {
    const matches = memberMatches(resolve(key[1]), key[3], (name) => !/["'\\\n]/.test(name));
    return [key[3], matches.map(({ text }) => ({ text, type: "key" }))];
  }
  const member = MEMBER.exec(before);
  if (member) {
    const prefix = member[2] ?? "";
    return [prefix, memberMatches(resolve(member[1]), prefix, (name) => IS_NAME.test(name))];
  }
  const word = WORD.exec(before)?.[1];
  return word === undefined ? ["", []] : [word, wordMatches(word)];
}

/** `folders`: where packages lie. */
function complete({ code, cursor, matches: most, text }, folders) {
  const [prefix, found] = find(code.slice(0, cursor), folders);
  const matches = found
    .filter((match) => match.text.length <= text)
    .sort((a, b) => Number(a.text.startsWith("_")) - Number(b.text.startsWith("_")))
    .slice(0, most);
  return { start: cursor - prefix.length, end: cursor, matches };
}

module.exports = { complete };

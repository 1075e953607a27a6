"use strict";
// Descriptors 1 and 2, anew for each execution: a process that an earlier one left behind keeps the old ones. Node itself has no dup2;
// our image brings it, another image may not.

const fs = require("node:fs");
const path = require("node:path");

const { openSync, closeSync } = fs;
const { O_WRONLY } = fs.constants;

function find() {
  try {
    return require(path.join(path.dirname(process.execPath), "../lib/sandbar/descriptors.node")).duplicate;
  } catch {
    return null;
  }
}
const duplicate = find();

// Code that has used up all descriptors must not keep the next execution from its pipes.
let spare = null;

function keepSpare() {
  try {
    spare ??= openSync("/dev/null", O_WRONLY);
  } catch {
    // There was room for the pipes; perhaps there is next time.
  }
}

function useSpare() {
  try {
    if (spare !== null) closeSync(spare);
  } catch {
    // User code has closed it.
  }
  spare = null;
}

function take(stem) {
  useSpare();
  replace(1, `${stem}.out`);
  replace(2, `${stem}.err`);
  keepSpare();
}

function replace(fd, name) {
  const fresh = openSync(name, O_WRONLY);
  // User code may have closed it.
  if (fresh === fd) return;
  duplicate(fresh, fd);
  closeSync(fresh);
}

keepSpare();

module.exports = { take, replaceable: duplicate !== null };

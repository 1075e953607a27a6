"use strict";
// A thread of its own; see interrupts.js.

const fs = require("node:fs");
const inspector = require("node:inspector");
const { workerData: running } = require("node:worker_threads");

const PATIENCE_MS = 100;
const session = new inspector.Session();
session.connectToMainThread();

const buffer = Buffer.alloc(64);
function next() {
  fs.read(4, buffer, 0, 64, null, (error, size) => {
    if (error || size === 0) return;
    const ordinal = Number(buffer.toString("latin1", 0, size).trim().split("\n").pop());
    Atomics.wait(running, 0, ordinal, PATIENCE_MS);
    if (Atomics.load(running, 0) === ordinal) session.post("Runtime.terminateExecution", () => {});
    next();
  });
}
next();

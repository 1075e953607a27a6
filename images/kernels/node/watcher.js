"use strict";
// A thread of its own; see interrupts.js.

const fs = require("node:fs");
const inspector = require("node:inspector");
const { workerData: running } = require("node:worker_threads");

/** Stuck is who has run for so long, in the system's ticks of 10 ms, or has slept at so many looks. A thread that the machine gives no
 * time to is neither, and would be hit when it runs the next execution. */
const PATIENCE_TICKS = 6;
const PATIENCE_LOOKS = 5;
const LOOK_MS = 20;
const MAIN = `/proc/self/task/${process.pid}/stat`;
const session = new inspector.Session();
session.connectToMainThread();

function look() {
  let stat;
  try {
    stat = fs.readFileSync(MAIN, "latin1");
  } catch {
    // The code has taken every descriptor: then only time counts.
    return { sleeps: true, ticks: 0 };
  }
  // The name, in parentheses, may itself contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { sleeps: fields[0] !== "R", ticks: Number(fields[11]) + Number(fields[12]) };
}

function isStuck(ordinal) {
  const until = look().ticks + PATIENCE_TICKS;
  let slept = 0;
  while (Atomics.wait(running, 0, ordinal, LOOK_MS) === "timed-out") {
    const { sleeps, ticks } = look();
    slept = sleeps ? slept + 1 : 0;
    if (ticks >= until || slept >= PATIENCE_LOOKS) return Atomics.load(running, 0) === ordinal;
  }
  return false;
}

const buffer = Buffer.alloc(64);
function next() {
  fs.read(4, buffer, 0, 64, null, (error, size) => {
    if (error || size === 0) return;
    const ordinal = Number(buffer.toString("latin1", 0, size).trim().split("\n").pop());
    if (isStuck(ordinal)) session.post("Runtime.terminateExecution", () => {});
    next();
  });
}
next();

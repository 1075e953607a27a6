"use strict";
// The control socket on fd 3: JSON lines. Written synchronously, so that what was said before a crash is said.

const fs = require("node:fs");
const net = require("node:net");

const { writeSync, readSync } = fs;
const { parse, stringify } = JSON;
const { wait } = Atomics;
const nap = new Int32Array(new SharedArrayBuffer(4));
const FD = 3;

let rest = "";

function send(message) {
  let data = Buffer.from(`${stringify(message)}\n`);
  while (data.length > 0) {
    try {
      data = data.subarray(writeSync(FD, data));
    } catch (error) {
      if (error.code !== "EAGAIN") process.reallyExit(70);
      wait(nap, 0, 0, 1);
    }
  }
}

/** Until the guest has taken the message and the output before it; it says nothing else during an execution. */
function sendAndWait(message) {
  send(message);
  const buffer = Buffer.alloc(256);
  for (;;) {
    try {
      const size = readSync(FD, buffer, 0, buffer.length, null);
      if (size === 0) process.reallyExit(0);
      if (buffer.subarray(0, size).includes(10)) return;
    } catch (error) {
      if (error.code !== "EAGAIN") process.reallyExit(70);
      wait(nap, 0, 0, 1);
    }
  }
}

function listen(onMessage) {
  const socket = new net.Socket({ fd: FD, readable: true, writable: false });
  socket.setEncoding("utf8");
  socket.on("data", (text) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop();
    for (const line of lines) onMessage(parse(line));
  });
  socket.on("error", () => process.reallyExit(70));
  socket.on("close", () => process.reallyExit(0));
}

module.exports = { send, sendAndWait, listen };

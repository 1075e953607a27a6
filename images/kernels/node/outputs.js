"use strict";
// process.stdout and process.stderr, written synchronously: what a cell printed is in the pipe before the cell is done. Node's own
// streams would also make descriptors 1 and 2 non-blocking for every child process.

const fs = require("node:fs");
const { Writable } = require("node:stream");

const { writeSync } = fs;
const { wait } = Atomics;
const nap = new Int32Array(new SharedArrayBuffer(4));

function writeAll(fd, data) {
  let rest = data;
  while (rest.length > 0) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
      wait(nap, 0, 0, 1);
    }
  }
}

class Output extends Writable {
  constructor(fd, name, divert) {
    super({ emitClose: false });
    this.fd = fd;
    this.divert = divert;
    this.streamName = name;
  }

  _write(chunk, _encoding, done) {
    try {
      if (!this.divert(this.streamName, chunk)) writeAll(this.fd, chunk);
      done();
    } catch (error) {
      done(error);
    }
  }

  // As with Node's own: these streams outlive whoever ends them.
  _destroy(_error, done) {
    done();
  }
}

const streams = [];

/** `divert` says whether it has taken the text: an earlier cell's timers and promises must not print into a later one. */
function install(divert) {
  for (const [fd, name] of [
    [1, "stdout"],
    [2, "stderr"],
  ]) {
    const stream = new Output(fd, name, divert);
    stream.end = () => stream;
    streams.push(stream);
    stream.on("error", () => {});
    Object.defineProperty(process, name, { configurable: true, enumerable: true, get: () => stream });
  }
}

/** What is still held back, by a cell that corked a stream. */
function flush() {
  for (const stream of streams) for (let depth = stream.writableCorked; depth > 0; depth--) stream.uncork();
}

/** An interrupt in the middle of a write, or a write that failed, would leave a stream that takes nothing more. */
function refresh() {
  for (const stream of streams) Writable.call(stream, { emitClose: false });
}

module.exports = { install, flush, refresh };

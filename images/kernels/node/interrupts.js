"use strict";
// SIGINT reaches JavaScript only between turns of the loop. While a cell's synchronous part runs, `vm` watches for it; a loop that never
// ends after an `await` needs a second thread: it hears of an interrupt on fd 4 and, when that execution goes on, ends its code.

const { Worker } = require("node:worker_threads");

const MAY_BE_ASYNC =
  /\b(await|async|then|setTimeout|setInterval|setImmediate|nextTick|queueMicrotask|on|once)\b/;
const running = new Int32Array(new SharedArrayBuffer(4));
let watcher = null;

/** The thread costs 20 MB, so only code that can need it starts it. */
function begin(ordinal, code) {
  Atomics.store(running, 0, ordinal);
  if (watcher !== null || !MAY_BE_ASYNC.test(code)) return;
  watcher = new Worker(require.resolve("./watcher.js"), { workerData: running });
  watcher.on("error", () => {
    watcher = null;
  });
  watcher.unref();
}

function end() {
  Atomics.store(running, 0, 0);
  Atomics.notify(running, 0);
}

module.exports = { begin, end };

/**
 * A kernel's process: one thread that speaks with the guest, one that runs Python. This one is never busy with user code, so
 * an interrupt always gets through; it believes nothing that the other one says, and says it on.
 *
 * @module
 */
import { createConnection } from "node:net";
import process from "node:process";
import { refuseSystemCalls } from "./system-calls.ts";
import { FRAME, FRAME_BYTES, FrameReader, frame, type KernelStart, SHARED, SHARED_CELLS } from "./wire.ts";

interface WorkerOptionsOfDeno {
  type: "module";
  deno: { permissions: Record<string, unknown> };
}
declare const Worker: new (
  url: URL,
  options: WorkerOptionsOfDeno,
) => {
  postMessage(message: unknown): void;
  onmessage: (event: { data: unknown }) => void;
  onerror: (event: { message: string; preventDefault(): void }) => void;
};

const start: KernelStart = JSON.parse(process.argv[2]!);
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const shared = new Int32Array(new SharedArrayBuffer(SHARED_CELLS * 4));
Atomics.store(shared, SHARED.room, start.room === null ? -1 : Math.min(start.room, 0x7fff0000));

const files = [start.pyodide, start.package, ...(start.snapshot ? [start.snapshot] : [])];
const read = [...files, ...start.mounts.map(({ root }) => root)];
const write = start.mounts.filter(({ readOnly }) => !readOnly).map(({ root }) => root);
const worker = new Worker(new URL("./worker.ts", import.meta.url), {
  type: "module",
  deno: {
    permissions: {
      read,
      write,
      net: false,
      env: false,
      run: false,
      ffi: false,
      sys: false,
      import: false,
    },
  },
});

const socket = createConnection(start.socket);
const frames = new FrameReader((kind, body) => {
  if (kind === FRAME.json) onMessage(JSON.parse(decoder.decode(body)));
  else if (kind === FRAME.chunk) worker.postMessage({ op: "chunk", body: body.slice() });
});
socket.on("connect", () => {
  // Nobody's code has run yet: the guest asks for that on this connection.
  refuseSystemCalls();
  socket.write(frame(FRAME.json, encoder.encode(JSON.stringify({ secret: start.secret }))));
});
socket.on("data", (chunk: Uint8Array) => frames.feed(chunk));
// Without its guest a kernel is of no use to anybody.
socket.on("close", () => process.exit(0));
socket.on("error", () => process.exit(1));

function onMessage(message: { op: string; room?: number }): void {
  if (message.op === "interrupt") {
    Atomics.store(shared, SHARED.interrupt, 2);
    Atomics.notify(shared, SHARED.interrupt);
  }
  if (message.op === "run") Atomics.store(shared, SHARED.interrupt, 0);
  if (message.op === "room") Atomics.store(shared, SHARED.room, Math.min(message.room!, 0x7fff0000));
  else worker.postMessage(message);
}

worker.onmessage = ({ data }) => {
  const [kind, body] = Array.isArray(data) ? data : [];
  const bytes = typeof body === "string" ? encoder.encode(body) : body;
  if (!(bytes instanceof Uint8Array) || bytes.length > FRAME_BYTES) process.exit(70);
  const known = kind === FRAME.stdout || kind === FRAME.stderr ? kind : FRAME.json;
  socket.write(frame(known, bytes), () => {
    Atomics.sub(shared, SHARED.unsent, bytes.length);
    Atomics.notify(shared, SHARED.unsent);
  });
};
worker.onerror = (event) => {
  event.preventDefault();
  process.stderr.write(`${event.message}\n`);
  process.exit(71);
};
worker.postMessage({ op: "start", start, shared: shared.buffer });

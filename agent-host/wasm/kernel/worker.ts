/**
 * The thread that runs Python. Its permissions are its folders and nothing else; what it takes away from its own global
 * object is for order's sake, the wall is not made of it.
 *
 * @module
 */
import { denoFs, denoRemains } from "./deno.ts";
import { type EmscriptenFs, hostFs } from "./host-fs.ts";
import { type Asked, Requests } from "./requests.ts";
import { FRAME, type KernelStart, SHARED, UNSENT_BYTES } from "./wire.ts";

interface PyProxy {
  (...args: unknown[]): unknown;
  callPromising(...args: unknown[]): Promise<unknown>;
}
interface Kernel {
  attach: PyProxy;
  rehearse: PyProxy;
  run: PyProxy;
  cancel: PyProxy;
  state: PyProxy;
  complete: PyProxy;
  set_env: PyProxy;
}
interface Pyodide {
  FS: EmscriptenFs;
  _module: {
    HEAPU8: Uint8Array;
    _malloc(size: number): number;
    _emscripten_builtin_memalign(a: number, s: number): number;
  };
  runPython(code: string): unknown;
  pyimport(name: string): { kernel: Kernel };
  setStdout(options: { write(bytes: Uint8Array): number; isatty: boolean }): void;
  setStderr(options: { write(bytes: Uint8Array): number; isatty: boolean }): void;
  setInterruptBuffer(buffer: Uint8Array): void;
  makeMemorySnapshot(): Uint8Array;
}
type Message =
  | { op: "start"; start: KernelStart; shared: SharedArrayBuffer }
  | { op: "run" | "state" | "complete" | "env" | "interrupt" }
  | { op: "fetched" | "fetch.failed"; id: number }
  | { op: "chunk"; body: Uint8Array };

const scope = globalThis as unknown as Record<string, unknown> & {
  onmessage: ((event: { data: Message }) => void) | null;
  postMessage(message: unknown): void;
};
const post = scope.postMessage.bind(scope);
const encoder = new TextEncoder();
const { readFileSync: readFile, readDirSync: readFolder } = denoFs;

// Pyodide looks for the first ones, and then expects a Node whose permissions it would not have. The others reach past the
// session: what `caches` keeps is on the host, for every process of this program.
const TAKEN = ["Deno", "process", "Buffer", "global", "Worker", "postMessage", "close"];
for (const name of [...TAKEN, "caches", "BroadcastChannel", "GPU", "WebSocket", "EventSource"])
  delete scope[name];

const SITE = "/lib/python3.14/site-packages";
/** What cells use most is in the snapshot, too. */
const MAKE = `
import asyncio, collections, csv, dataclasses, datetime, decimal, functools, itertools, math, pathlib, statistics, textwrap, tokenize
import sandbar_kernel.wasm_kernel
sandbar_kernel.wasm_kernel.make()
`;

/** V8 compiles anew, and better, what has run for a while. */
const REHEARSALS = 20;

let kernel: Kernel;
let requests: Requests | null = null;
let shared: Int32Array;
let running = Promise.resolve();
let begun = false;
/** Somebody's code has come. */
let wanted = false;

scope.onmessage = ({ data }) => {
  if (data.op === "start") begin(data.start, data.shared);
  else if (data.op === "interrupt") cancel();
  else if (data.op === "chunk") requests?.onChunk(data.body);
  else if (data.op === "fetched" || data.op === "fetch.failed") requests?.onMessage(data);
  else if (data.op === "run") {
    wanted = true;
    running = running.then(() => run(JSON.stringify(data)));
  } else if (data.op === "state") kernel.state(JSON.stringify(data));
  else if (data.op === "complete") kernel.complete(JSON.stringify(data));
  else if (data.op === "env") kernel.set_env(JSON.stringify((data as { env?: unknown }).env));
};

/** Python did not take the interrupt, or this would not run: the code awaits something, or has ended. */
function cancel(): void {
  Atomics.store(shared, SHARED.interrupt, 0);
  kernel?.cancel();
  requests?.endAll(new DOMException("interrupted", "AbortError"));
}

async function run(line: string): Promise<void> {
  try {
    await kernel.run.callPromising(line);
  } catch (error) {
    // Python itself is beyond repair, or was interrupted between our own instructions.
    fatal(error);
  }
}

/** In the same way as a cell runs, which is what has to be compiled. */
async function rehearse(): Promise<void> {
  for (let cell = 0; cell < REHEARSALS && !wanted; cell++) {
    await kernel.rehearse.callPromising(cell);
    // Lets in what has been said meanwhile.
    await new Promise((resume) => setTimeout(resume));
  }
}

function fatal(error: unknown): never {
  post([
    FRAME.json,
    JSON.stringify({ op: "fatal", detail: String((error as Error)?.stack ?? error).slice(0, 2000) }),
  ]);
  throw error;
}

function begin(start: KernelStart, memory: SharedArrayBuffer): void {
  // User code could ask for it again, and name a program of its own to begin with.
  if (begun) return;
  begun = true;
  shared = new Int32Array(memory);
  void load(start);
}

async function load(start: KernelStart): Promise<void> {
  const index = `file://${start.pyodide}/`;
  const { loadPyodide } = await import(`${index}pyodide.mjs`);
  const snapshot = start.snapshot ? readFile(start.snapshot) : null;
  const wasm = readFile(`${start.pyodide}/pyodide.asm.wasm`);
  const answers: Record<string, () => Response> = {
    "pyodide.asm.wasm": () => new Response(wasm, { headers: { "content-type": "application/wasm" } }),
    "python_stdlib.zip": () => new Response(readFile(`${start.pyodide}/python_stdlib.zip`)),
  };
  const realFetch = scope.fetch as typeof fetch;
  scope.fetch = async (url: unknown) => answers[String(url).slice(index.length)]!();
  const pyodide: Pyodide = await loadPyodide({
    indexURL: index,
    // Packages come as folders; the index of all that there are would only take memory.
    lockFileContents: JSON.stringify({ info: start.lockInfo, packages: {} }),
    packageBaseUrl: index,
    env: { HOME: "/session", PYTHONHASHSEED: "0" },
    checkAPIVersion: true,
    ...(snapshot ? { _loadSnapshot: snapshot } : { _makeSnapshot: true }),
    fsInit: async (FS: EmscriptenFs) => copyPackage(FS, start.package),
  });
  if (start.network)
    requests = new Requests((message) => post([FRAME.json, JSON.stringify(message)]), realFetch);
  scope.fetch = requests
    ? requests.fetch
    : (input: Asked, init: RequestInit) => nowhere(realFetch, input, init);
  scope.Deno = denoRemains;
  // At once, and not when the next collection comes: an idle session may never see one.
  for (const used of [snapshot, wasm]) used?.buffer.transfer(0);
  if (!snapshot) {
    pyodide.runPython(MAKE);
  }
  if (!start.snapshot && start.mounts.length === 0) {
    const made = pyodide.makeMemorySnapshot();
    post([FRAME.stdout, made]);
    post([FRAME.json, JSON.stringify({ op: "ready" })]);
    return;
  }
  ready(pyodide, start);
}

/** What needs no network is answered all the same. */
async function nowhere(real: typeof fetch, input: Asked, init?: RequestInit): Promise<Response> {
  if (/^https?:/i.test(new Request(input, init).url))
    throw new TypeError('this session has no network; it would have to be made with network "egress"');
  return real(input, init);
}

function copyPackage(FS: EmscriptenFs, folder: string): void {
  FS.mkdirTree(`${SITE}/sandbar_kernel`);
  for (const { name } of readFolder(folder))
    if (name.endsWith(".py")) FS.writeFile(`${SITE}/sandbar_kernel/${name}`, readFile(`${folder}/${name}`));
}

function ready(pyodide: Pyodide, start: KernelStart): void {
  const { FS, _module } = pyodide;
  const take = (bytes: number) => {
    if (bytes > Atomics.load(shared, SHARED.room)) return false;
    Atomics.sub(shared, SHARED.room, bytes);
    return true;
  };
  const type = hostFs(
    FS,
    (size) => _module._malloc(size),
    () => _module.HEAPU8,
  );
  for (const { at, root, readOnly, counted } of start.mounts) {
    FS.mkdirTree(at);
    FS.mount(type, { root, readOnly, take: start.room !== null && counted ? take : null }, at);
  }
  pyodide.setStdout({ write: (bytes) => output(FRAME.stdout, bytes), isatty: false });
  pyodide.setStderr({ write: (bytes) => output(FRAME.stderr, bytes), isatty: false });
  pyodide.setInterruptBuffer(new Uint8Array(shared.buffer, 0, 4));
  kernel = pyodide.pyimport("sandbar_kernel.wasm_kernel").kernel;
  const host = {
    say: (line: string) => void output(FRAME.json, encoder.encode(line)),
    sleep: (ms: number) => void Atomics.wait(shared, SHARED.interrupt, 0, Math.min(ms, 2 ** 31)),
  };
  kernel.attach(host, JSON.stringify(start.env), start.network);
  post([FRAME.json, JSON.stringify({ op: "ready" })]);
  // Much is compiled when it first runs: better while a session of the pool waits than with its first cell.
  if (start.rehearses) running = running.then(rehearse);
}

/** Stands still while too much of it waits for the socket, unless it is interrupted. */
function output(kind: number, bytes: Uint8Array): number {
  const copy = kind === FRAME.json ? bytes : bytes.slice();
  let unsent = Atomics.add(shared, SHARED.unsent, copy.length) + copy.length;
  post([kind, copy]);
  while (unsent > UNSENT_BYTES && Atomics.load(shared, SHARED.interrupt) === 0) {
    Atomics.wait(shared, SHARED.unsent, unsent, 100);
    unsent = Atomics.load(shared, SHARED.unsent);
  }
  return copy.length;
}

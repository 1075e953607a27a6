/** @module One kernel: a process of Deno in which Pyodide runs, and its connection. */
import { type ChildProcess, spawn } from "node:child_process";
import type { Socket } from "node:net";
import { constants } from "node:os";
import path from "node:path";
import { FRAME, FrameReader, frame, type KernelStart } from "../kernel/wire.ts";
import type { GuestStart } from "./start.ts";

const PAGES_PER_MB = 16;
const LEAST_MB = 64;
const HEAP_MB = 256;
const ENVIRONMENT = {
  DENO_NO_UPDATE_CHECK: "1",
  NO_COLOR: "1",
  // Without a backend an adapter is none, and no driver of the host's is loaded for it.
  DENO_WEBGPU_BACKEND: "none",
  // Left alone, glibc learns from the first large buffers to keep those that follow.
  MALLOC_MMAP_THRESHOLD_: "131072",
};

export interface KernelListener {
  onMessage(message: Record<string, unknown>): void;
  onOutput(stream: "stdout" | "stderr", data: Uint8Array): void;
  /** What the process wrote itself, past Python. */
  onRaw(stream: "stdout" | "stderr", data: Uint8Array): void;
  onExit(exit: { exit_code: number | null; signal: number | null }): void;
}

export class KernelProcess {
  readonly #listener: KernelListener;
  readonly #child: ChildProcess;
  #socket: Socket | null = null;
  #held = false;
  ready = false;
  alive = true;
  /** By us, on purpose. */
  killed = false;
  outOfMemory = false;

  constructor(guest: GuestStart, kernel: KernelStart, listener: KernelListener) {
    this.#listener = listener;
    this.#child = spawn(guest.deno, denoArguments(guest, kernel), {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...ENVIRONMENT, DENO_DIR: guest.denoDir },
    });
    this.#child.stdout!.on("data", (data) => listener.onRaw("stdout", data));
    this.#child.stderr!.on("data", (data) => listener.onRaw("stderr", data));
    this.#child.on("error", () => this.#exited(127, null));
    this.#child.on("exit", (code, signal) => this.#exited(code, signal));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Its process has dialled and said the secret. */
  attach(socket: Socket, early: Uint8Array): void {
    this.#socket = socket;
    const frames = new FrameReader((kind, body) => this.#onFrame(kind, body));
    const feed = (chunk: Uint8Array) => {
      try {
        frames.feed(chunk);
      } catch {
        this.kill();
      }
    };
    socket.on("data", feed);
    if (early.length) feed(early);
    if (this.#held) socket.pause();
  }

  say(message: object): void {
    this.#socket?.write(frame(FRAME.json, Buffer.from(JSON.stringify(message))));
  }

  /** Of the body that one of its requests was answered with; none: that was all. */
  chunk(id: number, data: Uint8Array): void {
    const body = Buffer.alloc(4 + data.length);
    body.writeUInt32BE(id);
    body.set(data, 4);
    this.#socket?.write(frame(FRAME.chunk, body));
  }

  hold(held: boolean): void {
    this.#held = held;
    for (const stream of [this.#socket, this.#child.stdout, this.#child.stderr])
      if (held) stream?.pause();
      else stream?.resume();
  }

  /** The one way that reaches a thread which is busy: ending only that thread would leave it running. */
  kill(): void {
    this.killed = true;
    this.#child.kill("SIGKILL");
  }

  #onFrame(kind: number, body: Uint8Array): void {
    if (!this.alive) return;
    if (kind === FRAME.stdout || kind === FRAME.stderr) {
      this.#listener.onOutput(kind === FRAME.stdout ? "stdout" : "stderr", body);
      return;
    }
    let message: unknown;
    try {
      message = JSON.parse(Buffer.from(body).toString());
    } catch {
      return;
    }
    if (typeof message === "object" && message !== null)
      this.#listener.onMessage(message as Record<string, unknown>);
  }

  #exited(code: number | null, signal: NodeJS.Signals | null): void {
    if (!this.alive) return;
    // What it said last may still lie in the socket.
    setImmediate(() => {
      if (!this.alive) return;
      this.alive = false;
      this.#socket?.destroy();
      this.#listener.onExit({ exit_code: code, signal: signal ? constants.signals[signal] : null });
    });
  }
}

function denoArguments(guest: GuestStart, kernel: KernelStart): string[] {
  const socket = path.resolve(kernel.socket);
  const folders = kernel.mounts.map(({ root }) => root);
  const writable = kernel.mounts.filter(({ readOnly }) => !readOnly).map(({ root }) => root);
  const read = [
    ...[guest.program, guest.pyodide, guest.package, socket],
    ...(guest.snapshot ? [guest.snapshot] : []),
    ...folders,
  ];
  const pages = Math.max(LEAST_MB, guest.memoryMb - LEAST_MB) * PAGES_PER_MB;
  const v8 = [
    "--disallow-code-generation-from-strings",
    // Its guesses are wrong for Python's loop, which V8 would compile anew in the midst of the first cells.
    "--no-wasm-deopt",
    `--wasm-max-mem-pages=${Math.min(pages, 65_536)}`,
    `--max-old-space-size=${Math.min(HEAP_MB, guest.memoryMb)}`,
  ];
  return [
    ...[
      "run",
      "--quiet",
      "--no-prompt",
      "--no-config",
      "--no-lock",
      "--no-remote",
      "--no-npm",
      "--cached-only",
    ],
    "--unstable-worker-options",
    `--allow-net=unix:${socket}`,
    `--allow-read=${read.join(",")}`,
    `--allow-write=${[socket, ...writable].join(",")}`,
    // Of the thread that runs no user code, for its one call: to have system calls refused.
    "--allow-ffi",
    `--v8-flags=${v8.join(",")}`,
    `${guest.program}/main.ts`,
    JSON.stringify(kernel),
  ];
}

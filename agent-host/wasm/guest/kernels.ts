/** @module The socket that kernels dial, each with a secret of its own. */
import { randomBytes } from "node:crypto";
import { rmSync } from "node:fs";
import net from "node:net";
import { FrameReader } from "../kernel/wire.ts";
import { Fetches } from "./fetches.ts";
import { type KernelListener, KernelProcess } from "./kernel-process.ts";
import { near } from "./near.ts";
import { HostReach } from "./reach.ts";
import type { GuestStart } from "./start.ts";

const SECRET_MS = 60_000;

export class Kernels {
  readonly #start: GuestStart;
  readonly #reach: HostReach | null;
  readonly #socket: string;
  readonly #expected = new Map<string, KernelProcess>();
  readonly alive = new Set<KernelProcess>();
  #server: net.Server | null = null;

  constructor(start: GuestStart) {
    this.#start = start;
    this.#reach = start.egress && new HostReach(start.egress);
    this.#socket = `${start.kernels}/kernel.sock`;
  }

  async listen(): Promise<void> {
    rmSync(this.#socket, { force: true });
    this.#server = net.createServer((socket) => this.#onConnection(socket));
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(near(this.#socket), resolve);
    });
  }

  spawn(env: Record<string, string>, room: number | null, listener: KernelListener): KernelProcess {
    const { pyodide, lockInfo, package: folder, snapshot, mounts } = this.#start;
    const secret = randomBytes(16).toString("hex");
    const rehearses = this.#start.pooled;
    const shared = {
      rehearses,
      pyodide,
      lockInfo,
      package: folder,
      snapshot,
      mounts,
      network: this.#reach !== null,
    };
    const fetches = new Fetches(this.#reach, {
      say: (message) => kernel.say(message),
      chunk: (id, data) => kernel.chunk(id, data),
    });
    const kernel: KernelProcess = new KernelProcess(
      this.#start,
      { socket: near(this.#socket), secret, env, room, ...shared },
      {
        ...listener,
        onMessage: (message) =>
          String(message.op).startsWith("fetch") ? fetches.onMessage(message) : listener.onMessage(message),
        onExit: (exit) => {
          fetches.endAll();
          this.alive.delete(kernel);
          this.#expected.delete(secret);
          listener.onExit(exit);
        },
      },
    );
    this.alive.add(kernel);
    this.#expected.set(secret, kernel);
    return kernel;
  }

  close(): void {
    this.#server?.close();
  }

  #onConnection(socket: net.Socket): void {
    socket.on("error", () => {});
    const late = setTimeout(() => socket.destroy(), SECRET_MS);
    const reader = new FrameReader((_kind, body) => {
      clearTimeout(late);
      socket.removeListener("data", onData);
      let secret: unknown;
      try {
        secret = JSON.parse(Buffer.from(body).toString()).secret;
      } catch {}
      const kernel = typeof secret === "string" ? this.#expected.get(secret) : undefined;
      if (!kernel) return socket.destroy();
      this.#expected.delete(secret as string);
      kernel.attach(socket, new Uint8Array());
    });
    const onData = (chunk: Buffer) => reader.feed(chunk);
    socket.on("data", onData);
  }
}

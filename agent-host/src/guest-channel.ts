/**
 * The socket that one box's guest dials. Everything read here is untrusted: bounded, then parsed, then checked.
 *
 * @module
 */
import { timingSafeEqual } from "node:crypto";
import { closeSync, openSync } from "node:fs";
import { chmod, rm } from "node:fs/promises";
import net from "node:net";
import path from "node:path";
import {
  type DaemonMessage,
  GUEST_LINE_LIMIT_BYTES,
  type GuestMessage,
  GuestMessageSchema,
  GuestTransferSchema,
} from "@sandbar/shared";
import type { z } from "zod";
import { LineReader, LineTooLong } from "./line-reader.ts";
import type { Log } from "./log.ts";
import { TransferSockets } from "./transfer-sockets.ts";

const HELLO_MS = 2000;
const MAX_CONNECTIONS = 128;
const TUNNEL_LIMIT = 64;
const ARTIFACT_LIMIT = 16;
const SOON_MS = 5;
const VIOLATION_LIMIT = 5;
/** A guest that does not read for this much is broken. */
const UNSENT_LIMIT_BYTES = 64 * 1024 * 1024;

export type GuestHello = Extract<GuestMessage, { type: "hello" }>;

export interface GuestChannelOptions {
  readonly runFolder: string;
  readonly token: string;
  /** False until the first `hello`, which nobody but the guest can send because no code of anybody's has run yet. */
  readonly tokenGiven: boolean;
  readonly log: Log;
  onHello(hello: GuestHello): void;
  onMessage(message: GuestMessage): void;
  onDown(): void;
  onViolations(): void;
}

export class GuestChannel {
  readonly transfers = new TransferSockets();
  /** These are apart from transfers, so that none takes the others' places. */
  readonly tunnels = new TransferSockets(TUNNEL_LIMIT);
  readonly artifacts = new TransferSockets(ARTIFACT_LIMIT);
  readonly #options: GuestChannelOptions;
  readonly #server: net.Server;
  #folder: number | null = null;
  #current: net.Socket | null = null;
  #tokenGiven: boolean;
  #violations = 0;
  #paused = false;
  #soon = "";
  #soonTimer: NodeJS.Timeout | null = null;
  readonly #sockets = new Set<net.Socket>();

  constructor(options: GuestChannelOptions) {
    this.#options = options;
    this.#tokenGiven = options.tokenGiven;
    this.#server = net.createServer((socket) => this.#connected(socket));
    this.#server.maxConnections = MAX_CONNECTIONS;
  }

  get connected(): boolean {
    return this.#current !== null;
  }

  async listen(): Promise<void> {
    const file = path.join(this.#options.runFolder, "daemon.sock");
    await rm(file, { force: true });
    // A socket's path may have 107 bytes; through the folder's descriptor the home may lie anywhere.
    this.#folder = openSync(this.#options.runFolder, "r");
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(`/proc/self/fd/${this.#folder}/daemon.sock`, () => {
        this.#server.off("error", reject);
        this.#server.on("error", (error) => this.#options.log.error({ err: error }, "guest socket"));
        resolve();
      });
    });
    await chmod(file, 0o666);
  }

  send(message: DaemonMessage): boolean {
    const socket = this.#current;
    if (!socket) return false;
    socket.write(`${this.#soon}${JSON.stringify(message)}\n`);
    this.#soon = "";
    if (socket.writableLength > UNSENT_LIMIT_BYTES) this.#violation(socket, "the guest does not read");
    return true;
  }

  /** For what may wait for a moment: it rides with the next message, or leaves alone. A write costs more than its bytes. */
  sendSoon(message: DaemonMessage): boolean {
    if (!this.#current) return false;
    this.#soon += `${JSON.stringify(message)}\n`;
    this.#soonTimer ??= setTimeout(() => {
      this.#soonTimer = null;
      if (this.#soon) this.#current?.write(this.#soon);
      this.#soon = "";
    }, SOON_MS);
    return true;
  }

  /** While paused the guest's output stays in the guest, which is bounded. */
  pause(paused: boolean): void {
    this.#paused = paused;
    if (paused) this.#current?.pause();
    else this.#current?.resume();
  }

  async close(): Promise<void> {
    if (this.#soonTimer) clearTimeout(this.#soonTimer);
    this.transfers.failAll("the session has ended");
    this.tunnels.failAll("the session has ended");
    this.artifacts.failAll("the session has ended");
    for (const socket of this.#sockets) socket.destroy();
    this.#current = null;
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    // Only now: libuv unlinks the path at close, and the number must not yet belong to another folder.
    if (this.#folder !== null) closeSync(this.#folder);
    this.#folder = null;
  }

  #connected(socket: net.Socket): void {
    this.#sockets.add(socket);
    const lines = new LineReader(GUEST_LINE_LIMIT_BYTES);
    const deadline = setTimeout(() => socket.destroy(), HELLO_MS);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(deadline);
      this.#sockets.delete(socket);
      if (this.#current !== socket) return;
      this.#current = null;
      this.#options.onDown();
    });
    let opening: Buffer | null = Buffer.alloc(0);
    const onData = (chunk: Buffer) => {
      // The first line says whether what follows is lines at all.
      if (opening) {
        chunk = opening.length ? Buffer.concat([opening, chunk]) : chunk;
        const end = chunk.indexOf(0x0a);
        opening = end < 0 && chunk.length <= GUEST_LINE_LIMIT_BYTES ? chunk : null;
        if (opening) return;
        const transfer = end < 0 ? null : readTransfer(chunk.subarray(0, end));
        if (transfer) {
          clearTimeout(deadline);
          socket.off("data", onData);
          socket.pause();
          const wanted =
            this.#hasToken(transfer.token) &&
            (this.transfers.attach(transfer.transfer, socket) ||
              this.tunnels.attach(transfer.transfer, socket) ||
              this.artifacts.attach(transfer.transfer, socket));
          if (!wanted) socket.destroy();
          else if (end + 1 < chunk.length) socket.unshift(chunk.subarray(end + 1));
          return;
        }
      }
      let violation: string | null = null;
      try {
        for (const line of lines.push(chunk)) {
          if (socket.destroyed) return;
          const message = readMessage(line);
          if (!message) violation = "a line is not a message";
          else if (this.#current === socket) this.#options.onMessage(message);
          else if (message.type === "hello" && this.#mayEnter(message)) {
            clearTimeout(deadline);
            this.#enter(socket, message);
          } else return void socket.destroy();
          if (violation) break;
        }
      } catch (error) {
        if (error instanceof LineTooLong) violation = "a line is too long";
        else this.#options.log.error({ err: error }, "could not handle a guest's message");
      }
      if (violation) this.#violation(socket, violation);
    };
    socket.on("data", onData);
  }

  #mayEnter(hello: GuestHello): boolean {
    return hello.token === undefined ? !this.#tokenGiven : this.#hasToken(hello.token);
  }

  #hasToken(token: string): boolean {
    const shown = Buffer.from(token);
    const wanted = Buffer.from(this.#options.token);
    return shown.length === wanted.length && timingSafeEqual(shown, wanted);
  }

  #enter(socket: net.Socket, hello: GuestHello): void {
    const old = this.#current;
    this.#soon = "";
    this.#current = socket;
    old?.destroy();
    this.#tokenGiven = true;
    if (this.#paused) socket.pause();
    this.send({ type: "welcome", token: this.#options.token });
    this.#options.onHello(hello);
  }

  #violation(socket: net.Socket, reason: string): void {
    // Strangers in the sandbox may dial too; only the proven guest counts.
    const proven = this.#current === socket;
    this.#options.log.warn({ reason, proven }, "guest broke the protocol");
    socket.destroy();
    if (proven && ++this.#violations >= VIOLATION_LIMIT) this.#options.onViolations();
  }
}

function readTransfer(line: Buffer): z.infer<typeof GuestTransferSchema> | null {
  if (line.length > 1024) return null;
  try {
    return GuestTransferSchema.safeParse(JSON.parse(line.toString("utf8"))).data ?? null;
  } catch {
    return null;
  }
}

function readMessage(line: string): GuestMessage | null {
  try {
    const parsed = GuestMessageSchema.safeParse(JSON.parse(line));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

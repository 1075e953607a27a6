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
  GUEST_PROTOCOL_VERSION,
  type GuestMessage,
  GuestMessageSchema,
  GuestProxySchema,
  GuestTransferSchema,
  PROXIED_LIMIT,
  readJson,
  understands,
} from "@sandbar/shared";
import type { Log } from "../host/log.ts";
import { LineReader, LineTooLong } from "../io/line-reader.ts";
import { TransferSockets } from "./transfer-sockets.ts";

const HELLO_MS = 2000;
/** Of those who have not shown the secret yet: any code in the sandbox may dial. A new one takes the place of the oldest. */
const UNPROVEN_LIMIT = 8;
const FIRST_LINE_BYTES = 64 * 1024;
const MAX_CONNECTIONS = 128 + PROXIED_LIMIT;
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
  /** A connection of code in the sandbox on its way out; paused. */
  onProxied(socket: net.Socket): void;
  /** It cannot be spoken with. */
  onViolations(reason: string): void;
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
  readonly #unproven = new Set<net.Socket>();

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
      const through = process.platform === "linux" ? `/proc/self/fd/${this.#folder}/daemon.sock` : file;
      this.#server.listen(through, () => {
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
    const [oldest] = this.#unproven;
    if (oldest && this.#unproven.size >= UNPROVEN_LIMIT) oldest.destroy();
    this.#sockets.add(socket);
    this.#unproven.add(socket);
    const deadline = setTimeout(() => socket.destroy(), HELLO_MS);
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(deadline);
      this.#sockets.delete(socket);
      this.#unproven.delete(socket);
      if (this.#current !== socket) return;
      this.#current = null;
      this.#options.onDown();
    });
    const opening = new LineReader(FIRST_LINE_BYTES);
    const onData = (chunk: Buffer) => {
      // What follows the first line need not be lines.
      const end = chunk.indexOf(0x0a) + 1;
      const [line] = readLines(opening, end > 0 ? chunk.subarray(0, end) : chunk) ?? [""];
      if (line === undefined) return;
      clearTimeout(deadline);
      socket.off("data", onData).pause();
      this.#unproven.delete(socket);
      // Before anybody listens to it.
      if (end < chunk.length) socket.unshift(chunk.subarray(end));
      if (!this.#open(socket, line)) socket.destroy();
      if (this.#current === socket && !this.#paused) socket.resume();
    };
    socket.on("data", onData);
  }

  /** Whether the first line of a connection says that it is the guest's. */
  #open(socket: net.Socket, line: string): boolean {
    const transfer = GuestTransferSchema.safeParse(readJson(line)).data;
    if (transfer)
      return (
        this.#hasToken(transfer.token) &&
        (this.transfers.attach(transfer.transfer, socket) ||
          this.tunnels.attach(transfer.transfer, socket) ||
          this.artifacts.attach(transfer.transfer, socket))
      );
    const proxied = GuestProxySchema.safeParse(readJson(line)).data;
    if (proxied) {
      if (this.#hasToken(proxied.token)) this.#options.onProxied(socket);
      return this.#hasToken(proxied.token);
    }
    const message = GuestMessageSchema.safeParse(readJson(line)).data;
    if (message?.type !== "hello" || !this.#mayEnter(message)) return false;
    this.#enter(socket, message);
    return true;
  }

  #listen(socket: net.Socket): void {
    const lines = new LineReader(GUEST_LINE_LIMIT_BYTES);
    socket.on("data", (chunk: Buffer) => {
      try {
        for (const line of lines.push(chunk)) {
          if (this.#current !== socket) return;
          const message = GuestMessageSchema.safeParse(readJson(line)).data;
          if (!message) return this.#violation(socket, "a line is not a message");
          this.#options.onMessage(message);
        }
      } catch (error) {
        if (error instanceof LineTooLong) this.#violation(socket, "a line is too long");
        else this.#options.log.error({ err: error }, "could not handle a guest's message");
      }
    });
  }

  #mayEnter(hello: GuestHello): boolean {
    const proven = hello.token === undefined ? !this.#tokenGiven : this.#hasToken(hello.token);
    if (!proven || understands(GUEST_PROTOCOL_VERSION, Math.floor(hello.v))) return proven;
    const reason = `the guest speaks version ${hello.v} of the protocol, this host ${GUEST_PROTOCOL_VERSION}`;
    this.#options.log.error({ v: hello.v }, reason);
    this.#options.onViolations(reason);
    return false;
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
    this.#listen(socket);
    this.send({ type: "welcome", token: this.#options.token });
    this.#options.onHello(hello);
  }

  #violation(socket: net.Socket, reason: string): void {
    this.#options.log.warn({ reason }, "guest broke the protocol");
    socket.destroy();
    if (++this.#violations >= VIOLATION_LIMIT) this.#options.onViolations("protocol violation");
  }
}

/** Null when there is one that is too long. */
function readLines(reader: LineReader, chunk: Buffer): string[] | null {
  try {
    return [...reader.push(chunk)];
  } catch {
    return null;
  }
}

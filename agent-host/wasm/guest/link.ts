/** @module The connection to the daemon: dialled again and again, one JSON object a line, bounded both ways. */
import net from "node:net";
import { LATE_BYTES_QUEUED, LINE_BYTES, UNACKED_BYTES } from "./limits.ts";

const FIRST_RETRY_MS = 20;
const LAST_RETRY_MS = 1000;
const WELCOME_MS = 5000;
const AWAY_LOOK_MS = 1000;

export interface LinkOptions {
  readonly path: string;
  /** Without a daemon for so long there will be none. */
  readonly awayMs: number;
  hello(): object;
  onWelcome(token: string): void;
  onMessage(message: { type: string } & Record<string, unknown>): void;
  onForsaken(): void;
}

export class Link {
  readonly #options: LinkOptions;
  #socket: net.Socket | null = null;
  #retryMs = FIRST_RETRY_MS;
  #ready = false;
  #late: string[] = [];
  #lateBytes = 0;
  #out = "";
  #flushing = false;
  #seen = Date.now();

  constructor(options: LinkOptions) {
    this.#options = options;
    setInterval(() => {
      if (this.#ready) this.#seen = Date.now();
      else if (Date.now() - this.#seen > options.awayMs) options.onForsaken();
    }, AWAY_LOOK_MS);
  }

  dial(): void {
    const socket = net.createConnection(this.#options.path);
    let rest = "";
    let opened = false;
    const decoder = new TextDecoder();
    const late = setTimeout(() => socket.destroy(), WELCOME_MS);
    socket.on("connect", () => {
      this.#socket = socket;
      socket.write(`${JSON.stringify(this.#options.hello())}\n`);
    });
    socket.on("data", (chunk) => {
      const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
      rest = lines.pop()!;
      if (rest.length > LINE_BYTES) return socket.destroy();
      for (const line of lines) {
        const message = parse(line);
        if (!message) continue;
        if (opened) this.#options.onMessage(message);
        else if (message.type === "welcome") {
          opened = true;
          clearTimeout(late);
          this.#welcome(String(message.token));
        }
      }
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(late);
      this.#ready = false;
      this.#socket = null;
      this.#out = "";
      setTimeout(() => this.dial(), this.#retryMs);
      this.#retryMs = Math.min(LAST_RETRY_MS, this.#retryMs * 2);
    });
  }

  /** For what is kept elsewhere until acknowledged, or may be lost with the connection. Lines of one turn leave together. */
  send(line: string): void {
    if (!this.#ready) return;
    this.#out += line;
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      if (this.#out) this.#socket?.write(this.#out);
      this.#out = "";
    });
  }

  /** Waits for a connection, within a small bound; the oldest goes first. */
  sendLate(line: string): void {
    if (this.#ready) {
      if ((this.#socket?.writableLength ?? 0) < UNACKED_BYTES) this.send(line);
      return;
    }
    this.#late.push(line);
    this.#lateBytes += line.length;
    while (this.#lateBytes > LATE_BYTES_QUEUED) this.#lateBytes -= this.#late.shift()!.length;
  }

  #welcome(token: string): void {
    this.#retryMs = FIRST_RETRY_MS;
    this.#ready = true;
    this.#options.onWelcome(token);
    for (const line of this.#late) this.send(line);
    this.#late = [];
    this.#lateBytes = 0;
  }
}

function parse(line: string): ({ type: string } & Record<string, unknown>) | null {
  try {
    const message = JSON.parse(line);
    return typeof message?.type === "string" ? message : null;
  } catch {
    return null;
  }
}

/** @module A terminal in a session, over a WebSocket. */
import { networkError, SandbarError } from "./errors.ts";
import type { Http } from "./http.ts";

export interface TerminalOptions {
  cols?: number;
  rows?: number;
  /** Attaches to a process that has a terminal, instead of starting a shell. */
  process?: string;
  /** Output up to this event id of the process is not shown again. */
  after?: number;
}

export interface TerminalExit {
  exit_code: number | null;
  signal: string | null;
}

export class Terminal {
  readonly #socket: WebSocket;
  #listener: (data: Uint8Array) => void = () => {};
  /** Output that came before anybody listened. */
  #early: Uint8Array[] | null = [];
  /** Known soon after opening; `{process: id}` attaches to it again. */
  processId: string | undefined;
  /** How the process ended, or null when only the connection did. */
  readonly closed: Promise<TerminalExit | null>;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.binaryType = "arraybuffer";
    let exit: TerminalExit | null = null;
    socket.addEventListener("message", ({ data }) => {
      if (typeof data !== "string") return this.#receive(new Uint8Array(data));
      const message = JSON.parse(data);
      if (message.type === "process") this.processId = message.id;
      if (message.type === "exit") exit = { exit_code: message.exit_code, signal: message.signal };
    });
    this.closed = new Promise((resolve) =>
      socket.addEventListener("close", () => resolve(exit), { once: true }),
    );
  }

  static async open(http: Http, sessionId: string, options: TerminalOptions = {}): Promise<Terminal> {
    const path = `/v1/sessions/${sessionId}/terminal`;
    const url = http.resolve(path, { ...options }).replace(/^http/, "ws");
    // Browsers cannot set headers on a WebSocket, so a key travels as an offered protocol. Cookies travel by themselves.
    const Socket = globalThis.WebSocket ?? (await nodeSocket());
    const socket = new Socket(url, ["sandbar", ...(http.apiKey ? [`bearer.${http.apiKey}`] : [])]);
    const terminal = new Terminal(socket);
    const opened = await new Promise<boolean>((resolve) => {
      socket.addEventListener("open", () => resolve(true), { once: true });
      socket.addEventListener("error", () => resolve(false), { once: true });
    });
    if (!opened) throw await refusal(http, path, options);
    return terminal;
  }

  /** Receives what the terminal prints, from the start. */
  onData(listener: (data: Uint8Array) => void): void {
    this.#listener = listener;
    for (const data of this.#early ?? []) listener(data);
    this.#early = null;
  }

  write(data: string | Uint8Array): void {
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    this.#socket.send(bytes as Uint8Array<ArrayBuffer>);
  }

  resize(cols: number, rows: number): void {
    this.#socket.send(JSON.stringify({ type: "resize", cols, rows }));
  }

  /** Leaves; the shell lives on for ten minutes for who comes back. */
  close(): void {
    this.#socket.close();
  }

  #receive(data: Uint8Array): void {
    if (this.#early) this.#early.push(data);
    else this.#listener(data);
  }
}

/** Node has one of its own since version 22. */
async function nodeSocket(): Promise<typeof WebSocket> {
  return (await import("ws")).WebSocket as unknown as typeof WebSocket;
}

/** A WebSocket does not say why it was refused; a plain request for the same does. */
async function refusal(http: Http, path: string, options: TerminalOptions): Promise<SandbarError> {
  try {
    await http.send("GET", path, { query: { ...options }, safe: false });
  } catch (error) {
    const upgradeOnly = error instanceof SandbarError && error.status === 400 && error.errors.length === 0;
    if (error instanceof SandbarError && !upgradeOnly) return error;
  }
  return networkError("the WebSocket was refused", "no terminal");
}

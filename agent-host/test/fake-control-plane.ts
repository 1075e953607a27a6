/**
 * Plays HostObject and SessionObject for one daemon: keeps commands until acknowledged, takes events that continue,
 * asks again for what is missing. The real ones are tested elsewhere.
 *
 * @module
 */
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import {
  type Capacity,
  CLOSE,
  type Command,
  framesOf,
  HEARTBEAT_REQUEST,
  HEARTBEAT_RESPONSE,
  type HostFrame,
  HostFrameSchema,
  JoinRequestSchema,
  type KernelEvent,
  newId,
  type Outcome,
  PROTOCOL_VERSION,
  type ServerFrame,
  type SessionReport,
} from "@sandbar/shared";
import { importJWK, type JWK, jwtVerify } from "jose";
import { type WebSocket, WebSocketServer } from "ws";

export interface FakeExecution {
  events: KernelEvent[];
  outcome: Outcome | null;
  /** Report frames seen, and how many of them carried an outcome. */
  reports: number;
  outcomes: number;
}

export class FakeControlPlane {
  readonly hostId = newId("hst");
  readonly #server = http.createServer((request, response) => void this.#join(request, response));
  readonly #sockets = new WebSocketServer({ server: this.#server });
  readonly #outbox = new Map<number, { session: string; command: Command }>();
  #n = 0;
  #key: JWK | null = null;
  #epoch = 0;
  socket: WebSocket | null = null;
  readonly frames: HostFrame[] = [];
  readonly executions = new Map<string, FakeExecution>();
  readonly sessions = new Map<string, SessionReport>();
  capacity: Capacity | null = null;
  inventory: { session: string; report: SessionReport }[] = [];
  welcomes = 0;
  /** While false, reports and terminal states go unacknowledged. */
  acks = true;
  readonly #waiting = new Set<() => void>();

  static async start(): Promise<FakeControlPlane> {
    const plane = new FakeControlPlane();
    plane.#sockets.on("connection", (socket) => plane.#connected(socket));
    plane.#server.listen(0, "127.0.0.1");
    await once(plane.#server, "listening");
    return plane;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** Keeps a command and sends it; `send: false` only keeps it. */
  command(session: string, command: Command, send = true): number {
    const n = ++this.#n;
    this.#outbox.set(n, { session, command });
    if (send) this.sendCommand(n);
    return n;
  }

  sendCommand(n: number): void {
    const kept = this.#outbox.get(n);
    if (kept) this.send({ t: "command", n, ...kept });
  }

  send(frame: ServerFrame): void {
    this.socket?.send(JSON.stringify(frame));
  }

  cut(): void {
    this.socket?.terminate();
  }

  supersede(): void {
    this.socket?.close(CLOSE.superseded, "superseded");
  }

  execution(id: string): FakeExecution {
    let found = this.executions.get(id);
    if (!found) {
      found = { events: [], outcome: null, reports: 0, outcomes: 0 };
      this.executions.set(id, found);
    }
    return found;
  }

  async until<T>(
    what: string,
    look: () => T | null | undefined | false | Promise<T | null | undefined | false>,
    ms = 50_000,
  ): Promise<T> {
    const end = Date.now() + ms;
    for (;;) {
      const found = await look();
      if (found) return found;
      if (Date.now() > end) throw new Error(`waited ${ms} ms for ${what}`);
      await new Promise<void>((resolve) => {
        const wake = () => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        const timer = setTimeout(wake, 50);
        this.#waiting.add(wake);
      });
    }
  }

  async #join(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request) body += chunk;
    this.#key = JoinRequestSchema.parse(JSON.parse(body)).public_key;
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ host_id: this.hostId }));
  }

  #connected(socket: WebSocket): void {
    const nonce = crypto.randomUUID();
    socket.on("error", () => {});
    socket.on("message", (data) => {
      const text = data.toString();
      if (text === HEARTBEAT_REQUEST) socket.send(HEARTBEAT_RESPONSE);
      else
        for (const frame of framesOf(text))
          void this.#receive(socket, nonce, HostFrameSchema.parse(JSON.parse(frame)));
    });
    socket.on("close", () => {
      if (this.socket === socket) this.socket = null;
    });
    socket.send(JSON.stringify({ t: "challenge", v: PROTOCOL_VERSION, nonce } satisfies ServerFrame));
  }

  async #receive(socket: WebSocket, nonce: string, frame: HostFrame): Promise<void> {
    if (frame.t === "hello") {
      const { payload } = await jwtVerify(frame.proof, await importJWK(this.#key!, "EdDSA"));
      if (payload.nonce !== nonce || payload.sub !== this.hostId) return socket.close(CLOSE.unauthorized);
      this.socket?.close(CLOSE.superseded, "superseded");
      this.socket = socket;
      this.capacity = frame.capacity;
      this.inventory = frame.sessions;
      // A daemon that was killed may have said it to nobody yet.
      for (const { session, report } of frame.sessions) this.sessions.set(session, report);
      this.send({ t: "welcome", epoch: ++this.#epoch, heartbeat_ms: 10_000 });
      const kept = [...this.#outbox].filter(([n]) => n > frame.last_n);
      this.#outbox.clear();
      this.#n = frame.last_n;
      for (const [, { session, command }] of kept) this.command(session, command);
      this.welcomes += 1;
    }
    if (socket !== this.socket) return;
    this.frames.push(frame);
    if (frame.t === "ack") {
      for (const n of this.#outbox.keys()) if (n <= frame.n) this.#outbox.delete(n);
    } else if (frame.t === "capacity") this.capacity = frame.capacity;
    else if (frame.t === "report") this.#report(frame);
    else if (frame.t === "session") {
      this.sessions.set(frame.session, frame.report);
      if (this.acks && ["failed", "died", "stopped"].includes(frame.report.state))
        this.send({ t: "session.ack", session: frame.session, state: frame.report.state });
    }
    for (const wake of [...this.#waiting]) wake();
  }

  #report({ session, execution: id, events, outcome }: Extract<HostFrame, { t: "report" }>): void {
    const execution = this.execution(id);
    execution.reports += 1;
    if (outcome) execution.outcomes += 1;
    if (!this.acks) return;
    for (const event of events) if (event.seq === execution.events.length + 1) execution.events.push(event);
    const seq = execution.events.length;
    const missing =
      (events.at(-1)?.seq ?? 0) > seq || (outcome && outcome.last_seq !== null && outcome.last_seq > seq);
    if (missing) {
      this.send({ t: "resend", session, execution: id, seq });
      return;
    }
    if (outcome) execution.outcome ??= outcome;
    this.send({ t: "ack", session, execution: id, seq, final: outcome !== null });
  }
}

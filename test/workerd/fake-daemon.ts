/**
 * A daemon without Docker: it joins with a token, proves a real Ed25519 key, keeps the promises of `docs/protocol.md`
 * that the control plane relies on, and leaves what happens to a `run` to the test.
 */
import { env, exports } from "cloudflare:workers";
import {
  type Capacity,
  type Command,
  framesOf,
  type HostFrame,
  type KernelEvent,
  type Outcome,
  PROTOCOL_VERSION,
  type ServerFrame,
  ServerFrameSchema,
  type SessionReport,
} from "@sandbar/shared";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import type { Env } from "../../worker/src/env.ts";

export const ORIGIN = "https://sandbar.test";
export const worker = (exports as unknown as { default: Fetcher }).default;

export type Received = Extract<ServerFrame, { t: "command" }>;
type PrivateKey = Awaited<ReturnType<typeof generateKeyPair>>["privateKey"];

const CAPACITY: Capacity = { max_sessions: 100, memory_mb: 1_000_000, cpus: 8, runtimes: ["python", "node"] };

export class FakeDaemon {
  readonly host: string;
  readonly #key: PrivateKey;
  readonly frames: ServerFrame[] = [];
  readonly commands: Received[] = [];
  /** What the journal of a real daemon would hold. */
  readonly sessions = new Map<string, SessionReport>();
  readonly ran = new Map<string, number>();
  capacity: Capacity = CAPACITY;
  acknowledges = true;
  /** Of the protocol. */
  version = PROTOCOL_VERSION;
  /** Loses every command, as a link does that dies with them on it. */
  deaf = false;
  /** Commands that a real daemon would have waited for in vain: their numbers did not follow each other. */
  readonly gaps: number[] = [];
  /** Sessions become ready and stop by themselves. */
  obliging = true;
  onRun: (run: Extract<Command, { type: "run" }>, session: string) => void = () => {};
  closed: { code: number; reason: string } | null = null;
  epoch = 0;
  #socket: WebSocket | null = null;
  readonly #boot = crypto.randomUUID();
  #lastN = 0;
  #seenN = 0;

  private constructor(host: string, key: PrivateKey) {
    this.host = host;
    this.#key = key;
  }

  static async join(name = "fake"): Promise<FakeDaemon> {
    const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
    const { kty, crv, x } = await exportJWK(publicKey);
    const { token } = await (env as unknown as Env).FLEET.getByName("fleet").enroll();
    const answer = await worker.fetch(`${ORIGIN}/agent/join`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, name, public_key: { kty, crv, x } }),
    });
    if (answer.status !== 201) throw new Error(`join answered ${answer.status}: ${await answer.text()}`);
    const { host_id } = await answer.json<{ host_id: string }>();
    return new FakeDaemon(host_id, privateKey);
  }

  /** A second daemon with the same key and journal, as after a restart or a copied disk. */
  twin(): FakeDaemon {
    const twin = new FakeDaemon(this.host, this.#key);
    for (const [session, report] of this.sessions) twin.sessions.set(session, report);
    twin.#lastN = this.#lastN;
    twin.epoch = this.epoch;
    return twin;
  }

  async connect(proofKey: PrivateKey = this.#key): Promise<this> {
    const answer = await worker.fetch(`${ORIGIN}/agent/link/${this.host}`, {
      headers: { Upgrade: "websocket" },
    });
    const socket = answer.webSocket;
    if (!socket) throw new Error(`link answered ${answer.status}: ${await answer.text()}`);
    this.closed = null;
    this.#socket = socket;
    const opened = Promise.withResolvers<void>();
    socket.addEventListener("message", ({ data }) => {
      if (data === "pong") return;
      // A real one hears nothing on a socket that it has left.
      if (this.#socket !== socket) return;
      for (const text of framesOf(String(data))) {
        const frame = ServerFrameSchema.parse(JSON.parse(text));
        this.frames.push(frame);
        if (frame.t === "challenge") void this.#hello(frame.nonce, proofKey);
        else if (frame.t === "welcome") {
          this.epoch = frame.epoch;
          this.#seenN = this.#lastN;
          opened.resolve();
        } else if (frame.t === "command") this.#take(frame);
      }
    });
    socket.addEventListener("close", ({ code, reason }) => {
      this.closed = { code, reason };
      opened.resolve();
    });
    socket.accept();
    await opened.promise;
    return this;
  }

  async #hello(nonce: string, key: PrivateKey): Promise<void> {
    const proof = await new SignJWT({ nonce })
      .setProtectedHeader({ alg: "EdDSA" })
      .setSubject(this.host)
      .sign(key);
    this.send({
      t: "hello",
      v: this.version,
      proof,
      version: "0.0.0-fake",
      boot: this.#boot,
      last_n: this.#lastN,
      ...(this.epoch > 0 && { epoch: this.epoch }),
      capacity: this.capacity,
      sessions: [...this.sessions].map(([session, report]) => ({ session, report })),
    });
  }

  #take(frame: Received): void {
    if (this.deaf) return;
    this.commands.push(frame);
    if (frame.n > this.#seenN + 1) this.gaps.push(frame.n);
    this.#seenN = Math.max(this.#seenN, frame.n);
    const known = frame.n <= this.#lastN;
    if (this.acknowledges) {
      this.#lastN = Math.max(this.#lastN, frame.n);
      this.send({ t: "ack", n: frame.n });
    }
    if (known) return;
    const { session, command } = frame;
    if (command.type === "session.create") {
      const had = this.sessions.get(session);
      if (had) this.report(session, had);
      else if (this.obliging) this.ready(session);
    }
    if (command.type === "session.stop" && this.obliging) this.report(session, { state: "stopped" });
    if (command.type === "run" && !this.ran.has(command.execution)) {
      this.ran.set(command.execution, 1);
      this.onRun(command, session);
    }
  }

  ready(session: string): void {
    this.report(session, { state: "ready", languages: ["python", "bash"], image: "sandbar/python" });
  }

  report(session: string, report: SessionReport): void {
    if (report.state === "ready" || report.state === "creating") this.sessions.set(session, report);
    else this.sessions.delete(session);
    this.send({ t: "session", session, report });
  }

  events(session: string, execution: string, events: KernelEvent[], outcome: Outcome | null = null): void {
    this.send({ t: "report", session, execution, events, outcome });
  }

  send(frame: HostFrame): void {
    this.#socket?.send(JSON.stringify(frame));
  }

  sendRaw(text: string): void {
    this.#socket?.send(text);
  }

  /** A request that only a session's host can make. */
  async signed(
    tenant: string,
    session: string,
    method: "POST" | "PUT",
    path: string,
    body: Uint8Array | object,
  ): Promise<Response> {
    const iat = Math.floor(Date.now() / 1000);
    const claims = { tenant, session, htm: method, htu: path, jti: crypto.randomUUID(), iat, exp: iat + 60 };
    const proof = await new SignJWT(claims)
      .setProtectedHeader({ alg: "EdDSA" })
      .setSubject(this.host)
      .sign(this.#key);
    const bytes = body instanceof Uint8Array;
    return worker.fetch(`${ORIGIN}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${proof}`,
        "Content-Type": bytes ? "application/octet-stream" : "application/json",
      },
      body: bytes ? body : JSON.stringify(body),
    });
  }

  disconnect(): void {
    this.#socket?.close(1000, "bye");
    this.#socket = null;
  }

  runs(execution?: string): Received[] {
    return this.commands.filter(
      ({ command }) => command.type === "run" && (execution === undefined || command.execution === execution),
    );
  }

  /** The first frame that fits, once it is there. */
  async waitFor<T extends ServerFrame["t"]>(
    type: T,
    fits: (frame: Extract<ServerFrame, { t: T }>) => boolean = () => true,
  ): Promise<Extract<ServerFrame, { t: T }>> {
    return until(() =>
      this.frames.find(
        (frame): frame is Extract<ServerFrame, { t: T }> => frame.t === type && fits(frame as never),
      ),
    );
  }
}

export async function until<T>(
  look: () => T | undefined | null | false | Promise<T | undefined | null | false>,
): Promise<T> {
  const end = Date.now() + 10_000;
  for (;;) {
    const found = await look();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited in vain for ${look}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

export function outcome(over: Partial<Outcome> = {}): Outcome {
  const now = Date.now();
  return {
    status: "ok",
    error: null,
    exit_code: null,
    totals: null,
    state: { variables: "kept", files: "kept" },
    started_at: now - 5,
    finished_at: now,
    last_seq: null,
    artifacts: [],
    artifacts_skipped: [],
    ...over,
  };
}

/** Started, then `lines` of stdout, numbered from 1. */
export const printed = (...lines: string[]): KernelEvent[] => [
  { type: "started", seq: 1 },
  ...lines.map((text, index): KernelEvent => ({ type: "stdout", seq: index + 2, text })),
];

/** A run that prints its code and ends well. */
export function echo(daemon: FakeDaemon): FakeDaemon["onRun"] {
  return (run, session) => {
    const events = printed(run.code);
    daemon.events(session, run.execution, events, outcome({ last_seq: events.length }));
  };
}

/** A connected daemon that is the only host of the fleet. */
export async function onlyHost(): Promise<FakeDaemon> {
  const { FLEET, HOSTS } = env as unknown as Env;
  const fleet = FLEET.getByName("fleet");
  for (const { id } of await fleet.hosts()) {
    await fleet.remove(id);
    await HOSTS.getByName(id).remove();
  }
  const daemon = await (await FakeDaemon.join()).connect();
  daemon.onRun = echo(daemon);
  return daemon;
}

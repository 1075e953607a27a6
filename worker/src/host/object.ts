/**
 * One Docker host: its daemon's WebSocket, the commands on their way to it, its lease.
 * `docs/protocol.md` tells the story of the frames.
 *
 * @module
 */
import { DurableObject } from "cloudflare:workers";
import {
  type Capacity,
  type Cause,
  CLOSE,
  FrameBatch,
  HEARTBEAT_REQUEST,
  HEARTBEAT_RESPONSE,
  type HostFrame,
  type HostMethod,
  type HostParams,
  type HostResult,
  PROTOCOL_VERSION,
  type ServerFrame,
  understands,
} from "@sandbar/shared";
import { type Answer, ok, refuse } from "../answer.ts";
import { type Env, leaseTimes } from "../env.ts";
import { networkOf } from "../rates/network-of.ts";
import { fleetObject, isTransient, sessionObject } from "../rpc.ts";
import type { Envelope } from "../session/envelope.ts";
import type { Reply } from "../session/outgoing.ts";
import { newSecret } from "../tokens.ts";
import { beginStep } from "../traces.ts";
import { Calls } from "./calls.ts";
import { provesHost } from "./handshake.ts";
import { ADDRESS_HEADER, auditHost } from "./host-audit.ts";
import { type Arrived, parseMessage, parseOpening } from "./host-frame.ts";
import { Lanes } from "./lanes.ts";
import { lease } from "./lease.ts";
import { type Attachment, type Linked, Meta, type Unproven } from "./meta.ts";
import { OUTBOX_LIMIT, OUTBOX_SCHEMA, Outbox } from "./outbox.ts";
import { PLACED_SCHEMA, Placed } from "./placed.ts";
import { type PromptReport, PromptReports } from "./prompt-reports.ts";
import { Relay } from "./relay.ts";
import { placeFor } from "./unproven.ts";

const HELLO_WAIT_MS = 10_000;
const RETRY_MS = 5_000;
const UNREACHED_MS = 1_000;
const LANE_LIMIT_CHARS = 32 * 1024 * 1024;

export interface Dispatch extends Envelope {
  readonly session: string;
  readonly tenant: string;
  /** What the command must not overtake; most of it waits here already. */
  readonly first?: readonly Envelope[];
  readonly refusable: boolean;
  /** To reports that came before. */
  readonly replies?: readonly Reply[];
  /** The caller takes the run's report with the answer, if it comes soon. */
  readonly prompt?: boolean;
}

type Hello = Extract<HostFrame, { t: "hello" }>;

export class HostObject extends DurableObject<Env> {
  readonly #meta: Meta;
  readonly #outbox: Outbox;
  readonly #placed: Placed;
  readonly #relay: Relay;
  readonly #calls = new Calls((frame) => this.#send(frame));
  readonly #prompt = new PromptReports();
  readonly #lanes = new Lanes(LANE_LIMIT_CHARS);
  readonly #batch = new FrameBatch(
    (message) => this.#transmit(message),
    (flush) => queueMicrotask(flush),
  );
  #socket: WebSocket | null = null;
  #lastFrameAt = 0;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair(HEARTBEAT_REQUEST, HEARTBEAT_RESPONSE));
    this.#meta = new Meta(ctx.storage.kv);
    this.#outbox = new Outbox(ctx.storage);
    this.#placed = new Placed(ctx.storage.sql);
    this.#relay = new Relay(env, this.#placed, this.#outbox, {
      send: (frame) => this.#send(frame),
      command: (session, envelope) => this.#command(session, envelope),
      stop: (session) =>
        this.#command(session, {
          dedupe: "session.stop",
          command: { type: "session.stop", reason: "ended" },
        }),
    });
    const meta = this.#meta.value;
    if (!meta) return;
    this.#socket = ctx.getWebSockets().find((socket) => linkedOf(socket)?.epoch === meta.epoch) ?? null;
    if (this.#socket) this.#outbox.resumeAt(linkedOf(this.#socket)!.n);
    // The whole runtime went down, sockets and all, and nobody told us: that was our silence, not the host's.
    if (meta.connected && !this.#socket) this.#meta.update({ connected: false, last_seen_at: Date.now() });
  }

  /** The daemon dials. The Worker has put the host id into the URL. */
  override async fetch(request: Request): Promise<Response> {
    const host = new URL(request.url).pathname.split("/").at(-1)!;
    const unproven = this.ctx.getWebSockets().flatMap((socket) => {
      const attachment = attachmentOf(socket);
      if (!attachment || !("nonce" in attachment)) return [];
      const { address, opened_at } = attachment;
      return [{ socket, network: address && networkOf(address), opened_at }];
    });
    const place = placeFor(unproven, Date.now());
    if (place === "none") return new Response(null, { status: 429, headers: { "Retry-After": "2" } });
    if (place !== "free") place.socket.close(CLOSE.unauthorized, "said no hello");
    const { 0: client, 1: server } = new WebSocketPair();
    const nonce = newSecret("");
    this.ctx.acceptWebSocket(server);
    const address = request.headers.get(ADDRESS_HEADER) || null;
    attach(server, { host, nonce, opened_at: Date.now(), address });
    server.send(JSON.stringify({ t: "challenge", v: PROTOCOL_VERSION, nonce } satisfies ServerFrame));
    return new Response(null, { status: 101, webSocket: client });
  }

  override async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    if (socket !== this.#socket) {
      const attachment = attachmentOf(socket);
      if (!attachment || !("nonce" in attachment)) return;
      const frame = parseOpening(message);
      if (frame?.t === "hello") await this.#hello(socket, attachment, frame);
      else socket.close(CLOSE.protocol, "expected hello");
      return;
    }
    const arrived = parseMessage(message);
    if (!arrived) {
      socket.close(CLOSE.protocol, "not a frame of this protocol");
      return;
    }
    this.#lastFrameAt = Date.now();
    if (this.#meta.value?.status === "unreachable") await this.#setStatus("online");
    // Beside each other: the lanes keep what must be in order.
    await Promise.all(arrived.map((one) => this.#handle(socket, one)));
  }

  override async webSocketClose(socket: WebSocket, code: number): Promise<void> {
    await this.#gone(socket);
    // Answers the peer's close frame; reserved codes may not be sent.
    try {
      socket.close(code === 1005 || code === 1006 || code === 1015 ? 1000 : code);
    } catch {
      // It is closed already.
    }
  }

  override async webSocketError(socket: WebSocket): Promise<void> {
    await this.#gone(socket);
  }

  async #gone(socket: WebSocket): Promise<void> {
    const meta = this.#meta.value;
    if (!meta || linkedOf(socket)?.epoch !== meta.epoch) return;
    this.#meta.update({ connected: false, last_seen_at: this.#lastSeen(socket) });
    this.#socket = null;
    this.#calls.failAll();
  }

  async #hello(socket: WebSocket, { host, nonce, address }: Unproven, frame: Hello): Promise<void> {
    if (!understands(PROTOCOL_VERSION, frame.v)) {
      const versions = `${PROTOCOL_VERSION - 1} and ${PROTOCOL_VERSION}`;
      socket.close(CLOSE.protocol, `this control plane speaks versions ${versions}, this daemon ${frame.v}`);
      return;
    }
    const publicKey = await this.#publicKey(host);
    if (!publicKey) {
      socket.close(CLOSE.removed, "this host is not registered");
      return;
    }
    if (!(await provesHost(frame.proof, { host, nonce, publicKey }))) {
      auditHost(this.env, host, { action: "host.connect", result: "UNAUTHENTICATED", address });
      socket.close(CLOSE.unauthorized, "the proof does not fit the host's key");
      return;
    }
    const before = this.#meta.value;
    if (!before)
      for (const statement of [...OUTBOX_SCHEMA, ...PLACED_SCHEMA]) this.ctx.storage.sql.exec(statement);
    const now = Date.now();
    const epoch = (before?.epoch ?? 0) + 1;
    this.#meta.set({
      host,
      public_key: publicKey,
      epoch,
      status: "online",
      last_seen_at: now,
      connected: true,
      check_at: before?.check_at ?? null,
      untold: true,
    });
    this.#lastFrameAt = now;
    auditHost(this.env, host, {
      action: "host.connect",
      address,
      detail: `epoch ${epoch}, version ${frame.version}`,
    });
    for (const other of this.ctx.getWebSockets()) {
      const linked = linkedOf(other);
      if (other === socket || !linked) continue;
      // A daemon that dialled twice has not been superseded, and must not go.
      if (linked.boot === frame.boot) other.close(CLOSE.tryAgain, "replaced by a newer connection");
      else other.close(CLOSE.superseded, "a newer daemon has this host id");
    }
    this.#calls.failAll();
    this.#socket = socket;
    this.#send({ t: "welcome", v: frame.v, epoch, heartbeat_ms: leaseTimes(this.env).heartbeat });
    const ours = frame.epoch === undefined || frame.epoch === before?.epoch;
    for (const row of this.#outbox.resendAfter(frame.last_n, ours)) this.#send({ t: "command", ...row });
    attach(socket, { host, epoch, boot: frame.boot, n: this.#outbox.lastN });
    // Taken down in the same step as the welcome: what is placed from here on is not missing.
    const missing = this.#relay.missing(new Set(frame.sessions.map(({ session }) => session)));
    await this.#tellFleet({ capacity: frame.capacity, version: frame.version });
    await this.#checkAt(Date.now() + leaseTimes(this.env).unreachable);
    await Promise.all([
      ...frame.sessions.map(({ session, report }) =>
        this.#lane(socket, session, 0, () => this.#relay.session(session, report)),
      ),
      ...missing.map((session) => this.#lane(socket, session, 0, () => this.#relay.died(session))),
    ]);
  }

  async #handle(socket: WebSocket, { frame, length: weight }: Arrived): Promise<void> {
    switch (frame.t) {
      case "hello":
        // The current socket has said its own; one of an older epoch is never the current one.
        return;
      case "ack":
        return this.#outbox.ack(frame.n);
      case "answer":
        return this.#calls.answer(frame.id, frame.result, frame.failure);
      case "capacity":
        return this.#tellFleet({ capacity: frame.capacity });
      case "report":
        if (this.#prompt.take(frame.execution, frame.events, frame.outcome)) return;
        return this.#lane(socket, frame.session, weight, () => this.#relay.report(frame));
      case "session":
        return this.#lane(socket, frame.session, weight, () =>
          this.#relay.session(frame.session, frame.report),
        );
      case "progress":
        return this.#lane(socket, frame.session, weight, () => this.#relay.progress(frame));
      case "network":
        return this.#lane(socket, frame.session, weight, () => this.#relay.network(frame));
    }
  }

  async #lane(socket: WebSocket, session: string, weight: number, work: () => Promise<void>): Promise<void> {
    if (this.#lanes.full) {
      socket.close(CLOSE.tryAgain, "too much waits");
      return;
    }
    try {
      await this.#lanes.run(session, weight, () => this.#untilReached(socket, session, work));
    } catch (error) {
      // A session that fails by itself would fail again, and the host's other sessions must not pay for it.
      console.error("frame not delivered", session, error);
    }
  }

  /** A session that cannot be reached is tried again while there is this link; the daemon reports again on the next one. */
  async #untilReached(socket: WebSocket, session: string, work: () => Promise<void>): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        return await work();
      } catch (error) {
        if (!isTransient(error) || socket !== this.#socket) throw error;
        if (attempt === 0) console.error("session not reached yet", session, error);
        await new Promise((resolve) => setTimeout(resolve, UNREACHED_MS));
      }
    }
  }

  /** From a SessionObject: kept until the daemon has it. */
  async dispatch(dispatch: Dispatch): Promise<Answer<PromptReport | null>> {
    const { session, tenant, first = [], replies = [], refusable, prompt, ...envelope } = dispatch;
    if (!this.#meta.value) return refuse("NOT_FOUND", "No such host");
    for (const reply of replies) this.#relay.reply(session, reply);
    if (refusable && !(await this.isReachable()))
      return refuse("HOST_UNREACHABLE", undefined, { retry_after_s: 5 });
    // A daemon that is there takes them at once.
    if (refusable && !this.#socket && this.#outbox.size() >= OUTBOX_LIMIT)
      return refuse("HOST_UNREACHABLE", "Too many commands wait for this host", { retry_after_s: 5 });
    if (envelope.command.type === "session.create") this.#placed.add(session, tenant);
    for (const one of first) this.#command(session, one);
    const { command } = envelope;
    const step = beginStep(this.env, command.cause);
    const sent = this.#command(session, envelope);
    step.end("host: dispatch", { "sandbar.session": session, "sandbar.command": command.type });
    return ok(sent && prompt && command.type === "run" ? await this.#prompt.wait(command.execution) : null);
  }

  /** From a SessionObject that has taken reports with its answers. */
  async reply(session: string, replies: readonly Reply[]): Promise<void> {
    for (const reply of replies) this.#relay.reply(session, reply);
  }

  /** Whether it was put on the socket, which it is not when it waits already. */
  #command(session: string, { command, ...envelope }: Envelope): boolean {
    const row = this.#outbox.put(session, { command, ...envelope }, this.#socket !== null);
    if (!this.#socket) return false;
    if (row) {
      attach(this.#socket, { ...linkedOf(this.#socket)!, n: row.n });
      this.#send({ t: "command", n: row.n, session, command });
    }
    // The daemon ignores a run that it has had, and what it said of it may have been lost with an answer, or may be yet.
    if (envelope.again && command.type === "run") {
      this.#prompt.forget(command.execution);
      this.#send({ t: "resend", session, execution: command.execution, seq: 0 });
    }
    return row !== null;
  }

  async call<M extends HostMethod>(
    session: string,
    method: M,
    params: HostParams<M>,
    timeoutMs?: number,
    cause?: Cause,
  ): Promise<Answer<HostResult<M>>> {
    return this.#calls.ask({ session, method, params, ...(cause && { cause }) }, timeoutMs);
  }

  async isReachable(): Promise<boolean> {
    const meta = this.#meta.value;
    return (
      meta !== null &&
      lease(meta.status, this.#lastSeen(), Date.now(), leaseTimes(this.env)).status === "online"
    );
  }

  /** The operator has removed the host: its sessions are lost and its daemon is told. */
  async remove(): Promise<void> {
    if (this.#meta.value) await this.#loseSessions();
    for (const socket of this.ctx.getWebSockets()) socket.close(CLOSE.removed, "the host was removed");
    this.#meta.clear();
    this.#socket = null;
    await this.ctx.storage.deleteAlarm();
    await this.ctx.storage.deleteAll();
  }

  override async alarm(): Promise<void> {
    const meta = this.#meta.value;
    if (!meta) return;
    const times = leaseTimes(this.env);
    const now = Date.now();
    for (const socket of this.ctx.getWebSockets()) {
      const attachment = attachmentOf(socket);
      if (attachment && "nonce" in attachment && attachment.opened_at <= now - HELLO_WAIT_MS)
        socket.close(CLOSE.unauthorized, "said no hello");
    }
    let lastSeen = this.#lastSeen();
    const late = now - (meta.check_at ?? now);
    // While nobody listened there was no silence.
    if (late > times.heartbeat && !meta.connected) lastSeen = Math.min(now, lastSeen + late);
    this.#meta.update({ last_seen_at: lastSeen });
    const next = lease(meta.status, lastSeen, now, times);
    if (next.status !== meta.status) await this.#setStatus(next.status);
    else await this.#tellFleet({});
    if (next.status === "lost") {
      this.#socket?.close(CLOSE.tryAgain, "the lease was lost");
      await this.#loseSessions();
    }
    if (next.checkAt !== null) await this.#checkAt(Math.max(next.checkAt, now + 10));
    if (this.#meta.value?.untold || (next.status === "lost" && this.#placed.all.size > 0))
      await this.#checkAt(now + RETRY_MS);
  }

  async #setStatus(status: "joining" | "online" | "unreachable" | "lost"): Promise<void> {
    this.#meta.update({ status, untold: true });
    auditHost(this.env, this.#meta.value!.host, { action: `host.${status}` });
    await this.#tellFleet({});
  }

  /** A fleet that cannot be told now is told by the next alarm. */
  async #tellFleet(news: { capacity?: Capacity; version?: string }): Promise<void> {
    const meta = this.#meta.value;
    if (!meta || meta.status === "joining") return;
    const { host, status, epoch } = meta;
    try {
      await fleetObject(this.env).hostNews(host, { status, epoch, last_seen_at: this.#lastSeen(), ...news });
      const current = this.#meta.value;
      if (current?.untold && current.epoch === epoch && current.status === status)
        this.#meta.update({ untold: false });
    } catch (error) {
      console.error("fleet not told yet", host, error);
      // Capacity is not kept here, so the daemon must say it again.
      if (news.capacity) this.#socket?.close(CLOSE.tryAgain, "the fleet could not be told");
    }
  }

  async #loseSessions(): Promise<void> {
    await Promise.all(
      [...this.#placed.all].map(async ([session, tenant]) => {
        try {
          await sessionObject(this.env, tenant, session).hostLost(this.#outbox.unsentRuns(session));
          this.#outbox.void(session);
          this.#placed.remove(session);
        } catch (error) {
          console.error("session not told of its host's loss yet", session, error);
        }
      }),
    );
  }

  #lastSeen(socket = this.#socket): number {
    // A frame as young as this says enough.
    if (Date.now() - this.#lastFrameAt < leaseTimes(this.env).heartbeat) return this.#lastFrameAt;
    const beat = socket ? (this.ctx.getWebSocketAutoResponseTimestamp(socket)?.getTime() ?? 0) : 0;
    return Math.max(beat, this.#lastFrameAt, this.#meta.value?.last_seen_at ?? 0);
  }

  async #publicKey(host: string): Promise<string | null> {
    return this.#meta.value?.public_key ?? (await fleetObject(this.env).publicKey(host));
  }

  async #checkAt(time: number): Promise<void> {
    const current = await this.ctx.storage.getAlarm();
    if (current !== null && current <= time) return;
    this.#meta.update({ check_at: time });
    await this.ctx.storage.setAlarm(time);
  }

  /** False when there is no socket to send on. */
  #send(frame: ServerFrame): boolean {
    if (!this.#socket) return false;
    this.#batch.add(JSON.stringify(frame));
    return true;
  }

  #transmit(message: string): void {
    try {
      this.#socket?.send(message);
    } catch {
      // Closed a moment ago; the outbox and the daemon's journal hold what matters.
    }
  }
}

const attach = (socket: WebSocket, attachment: Attachment) => socket.serializeAttachment(attachment);
const attachmentOf = (socket: WebSocket) => socket.deserializeAttachment() as Attachment | null;

/** Null until it has said its hello. */
function linkedOf(socket: WebSocket): Linked | null {
  const attachment = attachmentOf(socket);
  return attachment && "epoch" in attachment ? attachment : null;
}

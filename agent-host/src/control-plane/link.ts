/** @module The one WebSocket to the control plane: opening, proof, redial with backoff and jitter, backpressure. */
import {
  CLOSE,
  FRAME_LIMIT_BYTES,
  FrameBatch,
  framesOf,
  HEARTBEAT_RESPONSE,
  type HostFrame,
  PROTOCOL_VERSION,
  type ServerFrame,
  ServerFrameSchema,
  understands,
} from "@sandbar/shared";
import WebSocket from "ws";
import type { Figures } from "../host/figures.ts";
import type { Log } from "../host/log.ts";
import { backoffMs } from "../io/backoff.ts";
import { boundFrame } from "./frame-bound.ts";
import { Heartbeat } from "./heartbeat.ts";

const OPENING_MS = 10_000;
/** A link that lasted so long was of use, whatever ended it. */
const CALM_MS = 5_000;
const INBOUND_LIMIT_BYTES = 16 * 1024 * 1024;
/** Above this many unsent bytes the guests are not read any more. */
const CONGESTED_BYTES = 8 * 1024 * 1024;
const RELIEVED_BYTES = 1024 * 1024;

type Hello = Extract<HostFrame, { t: "hello" }>;

/** What others need of the link. */
export interface Upward {
  readonly up: boolean;
  send(frame: HostFrame): boolean;
  sendText(text: string): boolean;
}

export interface LinkOptions {
  readonly url: string;
  readonly hostId: string;
  readonly version: string;
  readonly boot: string;
  readonly log: Log;
  readonly figures: Pick<Figures, "dialled" | "welcomed" | "sent" | "received">;
  sign(nonce: string): Promise<string>;
  /** `brief`: which sessions there are, but not how they are, which is told after the welcome. */
  describe(brief: boolean): Pick<Hello, "last_n" | "epoch" | "capacity" | "sessions">;
  onWelcome(epoch: number): void;
  onFrame(frame: ServerFrame): void;
  /** A command frame that this version cannot read. */
  onUnreadableCommand(n: number): void;
  /** Fatal for this daemon: a newer one has the host id, or the host was removed. */
  onEnd(reason: "superseded" | "removed"): void;
  onCongestion(congested: boolean): void;
}

export class Link {
  readonly #options: LinkOptions;
  /** What all guests said in one turn of the event loop leaves together. */
  readonly #batch = new FrameBatch((message) => this.#transmit(message), setImmediate);
  #socket: WebSocket | null = null;
  #heartbeat: Heartbeat | null = null;
  #redial: NodeJS.Timeout | null = null;
  #attempt = 0;
  #welcomed = false;
  #welcomedAt = 0;
  #stumbled = false;
  #congested = false;
  #stopped = false;

  constructor(options: LinkOptions) {
    this.#options = options;
  }

  /** Between `welcome` and close: only then do frames go out. */
  get up(): boolean {
    return this.#welcomed;
  }

  /** What waits in this process to be sent. */
  get unsentBytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  start(): void {
    this.#dial();
  }

  stop(): void {
    this.#stopped = true;
    if (this.#redial) clearTimeout(this.#redial);
    this.#batch.flush();
    this.#socket?.close(1001);
  }

  send(frame: HostFrame): boolean {
    return this.sendText(JSON.stringify(frame));
  }

  sendText(text: string): boolean {
    if (!this.#welcomed || this.#socket?.readyState !== WebSocket.OPEN) return false;
    const bounded = boundFrame(text);
    if (bounded !== text)
      this.#options.log.warn({ frame: text.slice(0, 200), length: text.length }, "a frame was too long");
    if (bounded !== null) this.#batch.add(bounded);
    return true;
  }

  /** Closes the connection; everything unacknowledged comes again on the next one. */
  drop(reason: string): void {
    this.#options.log.warn({ reason }, "dropping the link");
    this.#socket?.terminate();
  }

  #transmit(message: string): void {
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) return;
    this.#options.figures.sent(Buffer.byteLength(message));
    socket.send(message, () => this.#relieve(socket));
    if (!this.#congested && socket.bufferedAmount > CONGESTED_BYTES) {
      this.#congested = true;
      this.#options.onCongestion(true);
    }
  }

  #relieve(socket: WebSocket): void {
    if (!this.#congested || (socket === this.#socket && socket.bufferedAmount > RELIEVED_BYTES)) return;
    this.#congested = false;
    this.#options.onCongestion(false);
  }

  #dial(): void {
    const { url, hostId, log, figures } = this.#options;
    figures.dialled();
    const socket = new WebSocket(`${url.replace(/^http/, "ws")}/agent/link/${hostId}`, {
      perMessageDeflate: false,
      maxPayload: INBOUND_LIMIT_BYTES,
      handshakeTimeout: OPENING_MS,
    });
    this.#socket = socket;
    const opening = setTimeout(() => socket.terminate(), OPENING_MS);
    socket.on("message", (data, binary) => {
      if (binary || socket !== this.#socket) return;
      const text = data.toString();
      figures.received(text.length);
      if (text === HEARTBEAT_RESPONSE) return this.#heartbeat?.answered();
      try {
        for (const frame of framesOf(text)) this.#receive(socket, frame, opening);
      } catch (error) {
        log.error({ err: error }, "could not handle a frame");
        this.#stumbled = true;
        socket.terminate();
      }
    });
    socket.on("error", (error) => log.debug({ err: error }, "link error"));
    socket.on("close", (code, reason) => {
      clearTimeout(opening);
      if (socket !== this.#socket) return;
      this.#closed(code, reason.toString());
    });
  }

  #receive(socket: WebSocket, text: string, opening: NodeJS.Timeout): void {
    const raw = JSON.parse(text) as { t?: unknown; n?: unknown };
    const parsed = ServerFrameSchema.safeParse(raw);
    if (!parsed.success) {
      this.#options.log.error({ t: raw?.t, issues: parsed.error.issues.slice(0, 3) }, "cannot read a frame");
      if (raw?.t === "command" && Number.isInteger(raw.n) && this.#welcomed)
        this.#options.onUnreadableCommand(raw.n as number);
      return;
    }
    const frame = parsed.data;
    if (frame.t === "challenge") {
      const v = Math.min(PROTOCOL_VERSION, frame.v);
      if (understands(PROTOCOL_VERSION, v)) void this.#prove(socket, frame.nonce, v);
      else {
        const ours = `${PROTOCOL_VERSION - 1} and ${PROTOCOL_VERSION}`;
        this.#options.log.error(
          { v },
          `the control plane speaks version ${v}, this daemon ${ours}: upgrade it`,
        );
        socket.close(CLOSE.protocol);
      }
    } else if (frame.t === "welcome") {
      clearTimeout(opening);
      this.#welcomed = true;
      this.#welcomedAt = performance.now();
      this.#options.figures.welcomed();
      this.#options.log.info({ epoch: frame.epoch, v: frame.v ?? PROTOCOL_VERSION - 1 }, "linked");
      this.#heartbeat?.stop();
      this.#heartbeat = new Heartbeat(
        frame.heartbeat_ms,
        (ping) => socket.readyState === WebSocket.OPEN && socket.send(ping),
        () => this.drop("no answer to the heartbeat"),
      );
      this.#options.onWelcome(frame.epoch);
    } else if (this.#welcomed) this.#options.onFrame(frame);
  }

  async #prove(socket: WebSocket, nonce: string, v: number): Promise<void> {
    const proof = await this.#options.sign(nonce);
    if (socket.readyState !== WebSocket.OPEN) return;
    const { version, boot } = this.#options;
    const hello = (brief: boolean): string =>
      JSON.stringify({
        t: "hello",
        v,
        proof,
        version,
        boot,
        ...this.#options.describe(brief),
      } satisfies HostFrame);
    const whole = hello(false);
    socket.send(whole.length > FRAME_LIMIT_BYTES ? hello(true) : whole);
  }

  #closed(code: number, reason: string): void {
    // What made one side give the link up would do so again at once.
    const inVain = this.#stumbled || code === CLOSE.tryAgain;
    if (this.#welcomed && (!inVain || performance.now() - this.#welcomedAt > CALM_MS)) this.#attempt = 0;
    this.#stumbled = false;
    this.#welcomed = false;
    this.#heartbeat?.stop();
    this.#heartbeat = null;
    this.#socket = null;
    this.#batch.clear();
    if (this.#congested) {
      this.#congested = false;
      this.#options.onCongestion(false);
    }
    if (this.#stopped) return;
    if (code === CLOSE.superseded || code === CLOSE.removed) {
      this.#stopped = true;
      this.#options.onEnd(code === CLOSE.superseded ? "superseded" : "removed");
      return;
    }
    const wait = backoffMs(this.#attempt++);
    const level = code === CLOSE.unauthorized ? "error" : this.#attempt > 3 ? "warn" : "info";
    this.#options.log[level]({ code, reason, wait }, "link closed; dialling again");
    this.#redial = setTimeout(() => this.#dial(), wait);
  }
}

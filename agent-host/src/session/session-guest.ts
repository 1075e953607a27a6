/**
 * The guest at the other end of a session's box: spoken to while it is there, waited for while it is not.
 *
 * @module
 */
import type { Socket } from "node:net";
import {
  type DaemonMessage,
  type GuestAnswer,
  type GuestMessage,
  type GuestMethod,
  SandbarError,
} from "@sandbar/shared";
import type { Box, BoxListener, BoxUsage } from "../engine/box.ts";
import { GuestCalls } from "../guest/guest-calls.ts";
import type { GuestChannel, GuestHello } from "../guest/guest-channel.ts";
import type { PooledBox } from "../pool/pooled-box.ts";

/** A sandbox whose guest stays away so long is dead, whatever its engine says. */
const GUEST_AWAY_MS = 30_000;

export interface SessionGuestListener {
  onHello(hello: GuestHello): void;
  onMessage(message: GuestMessage): void;
  onDown(): void;
  onProxied(socket: Socket): void;
  /** It does not obey, or does not come back. */
  onLost(reason: string): void;
}

export class SessionGuest {
  readonly #listener: SessionGuestListener;
  readonly #calls: GuestCalls;
  #box: Box | null = null;
  #hello: GuestHello | null = null;
  #away: NodeJS.Timeout | null = null;
  #paused = false;
  #adopted = false;

  constructor(callTimeoutMs: number, listener: SessionGuestListener) {
    this.#listener = listener;
    this.#calls = new GuestCalls((message) => this.send(message), callTimeoutMs);
  }

  /** An earlier daemon made its box. */
  get adopted(): boolean {
    return this.#adopted;
  }

  /** What it said when it dialled; null while it is away. */
  get hello(): GuestHello | null {
    return this.#hello;
  }

  get sandbox(): string | null {
    return this.#box?.sandbox ?? null;
  }

  get channel(): GuestChannel {
    const channel = this.#box?.channel;
    if (!channel) throw new SandbarError("SESSION_NOT_READY", "the session's box is not there");
    return channel;
  }

  /** What its box uses; null when there is none. */
  async usage(): Promise<BoxUsage | null> {
    return (await this.#box?.usage()) ?? null;
  }

  /** The box that it is in, or will be. */
  livesIn(box: Box): void {
    this.#box = box;
  }

  /** Of a box that is the session's from now on: it spoke to the pool so far. */
  takeOver(pooled: PooledBox): void {
    this.#hello = pooled.handTo(this.boxListener());
  }

  /** The box of an earlier daemon. */
  async adopt(box: Box, sandbox: string): Promise<void> {
    this.#box = box;
    this.#adopted = true;
    this.#wait();
    await box.adopt(sandbox, true);
  }

  /** There is no guest any more; answers the box that it was in. */
  leave(reason: string): Box | null {
    const box = this.#box;
    this.#box = null;
    this.#hello = null;
    this.#calls.failAll(reason);
    this.#stopWaiting();
    return box;
  }

  boxListener(): BoxListener {
    return {
      onHello: (hello) => this.#onHello(hello),
      onMessage: (message) => {
        if (message.type === "answer") this.#calls.onAnswer(message);
        else this.#listener.onMessage(message);
      },
      onDown: () => this.#onDown(),
      onProxied: (socket) => this.#listener.onProxied(socket),
      onViolations: (reason) => this.#listener.onLost(reason),
    };
  }

  send(message: DaemonMessage): boolean {
    const channel = this.#hello && this.#box?.channel;
    if (!channel) return false;
    // Nobody waits for an acknowledgement; it only frees memory.
    return message.type === "ack" ? channel.sendSoon(message) : channel.send(message);
  }

  call<M extends GuestMethod>(
    method: M,
    params: Record<string, unknown>,
    timeoutMs?: number,
  ): Promise<GuestAnswer<M>> {
    return this.#calls.call(method, params, timeoutMs);
  }

  pause(paused: boolean): void {
    this.#paused = paused;
    this.#box?.channel?.pause(paused);
  }

  #onHello(hello: GuestHello): void {
    this.#stopWaiting();
    this.#hello = hello;
    this.#box?.channel?.pause(this.#paused);
    this.#listener.onHello(hello);
  }

  #onDown(): void {
    this.#hello = null;
    this.#calls.failAll("the sandbox's connection was lost");
    this.#listener.onDown();
    this.#wait();
  }

  #wait(): void {
    this.#stopWaiting();
    this.#away = setTimeout(() => this.#listener.onLost("the guest stays away"), GUEST_AWAY_MS);
  }

  #stopWaiting(): void {
    if (this.#away) clearTimeout(this.#away);
    this.#away = null;
  }
}

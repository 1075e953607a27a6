/** @module WebSockets to the control plane, each joined there with a client's by a one-time grant. */
import type { Socket } from "node:net";
import type { GuestCall } from "@sandbar/shared";
import WebSocket from "ws";
import type { TransferSockets } from "./transfer-sockets.ts";

const OPENING_MS = 10_000;
/** An open tunnel is use of the session: it says so at least this often. */
const ALIVE_MS = 60_000;
export const MESSAGE_LIMIT_BYTES = 16 * 1024 * 1024;
/** Above so many unsent bytes the other side is not read any more. */
const HIGH_BYTES = 256 * 1024;

/** What a session must have for something in it to be reached. */
export interface TunnelGuest {
  /** How long the session lives unused. */
  readonly idleMs: number;
  readonly tunnels: TransferSockets;
  readonly call: GuestCall;
}

export class Tunnels {
  readonly #url: string;
  readonly #open = new Map<string, WebSocket>();

  constructor(url: string) {
    this.#url = url;
  }

  /** `protocol` is what the client is told that its WebSocket speaks. */
  dial(grant: string, idleMs: number, protocol = ""): WebSocket {
    const url = `${this.#url}/agent/tunnels/${grant}`;
    const socket = new WebSocket(url.replace(/^http/, "ws"), {
      perMessageDeflate: false,
      maxPayload: MESSAGE_LIMIT_BYTES,
      handshakeTimeout: OPENING_MS,
      headers: protocol ? { "x-sandbar-protocol": encodeURIComponent(protocol) } : {},
    });
    const use = () => fetch(url, { method: "PUT" }).catch(() => {});
    const alive = setInterval(use, Math.min(ALIVE_MS, idleMs / 3));
    this.#open.set(grant, socket);
    socket.once("close", () => {
      clearInterval(alive);
      this.#open.delete(grant);
    });
    return socket;
  }

  /** The client may not use it any more. Nothing that it sends until it has heard so counts. */
  close(grant: string): void {
    const socket = this.#open.get(grant);
    socket?.removeAllListeners("message");
    socket?.close(1008, "the API key was revoked or has expired");
  }
}

/** A byte stream to something inside the session, paused until somebody listens. */
export async function dialGuest(
  guest: TunnelGuest,
  target: { port: number } | { process: string; after: number },
): Promise<Socket> {
  return guest.tunnels.expecting(async ({ id, socket }) => {
    await guest.call("tunnel.open", { tunnel: id, ...target });
    return (await socket).on("error", () => {});
  });
}

/** Sends, and keeps the source quiet while too much waits. */
export function sendPaced(
  socket: WebSocket,
  data: Buffer | string,
  binary: boolean,
  source: { pause(): unknown; resume(): unknown },
): void {
  if (socket.readyState !== WebSocket.OPEN) return;
  socket.send(data, { binary }, () => {
    if (socket.bufferedAmount <= HIGH_BYTES) source.resume();
  });
  if (socket.bufferedAmount > HIGH_BYTES) source.pause();
}

/** What may be sent as a close code; the others stand for a close without one, or for a cut. */
export function closeLike(socket: WebSocket, code: number, reason: string): void {
  if (code === 1005) socket.close();
  else if (code === 1006 || code === 1015) socket.close(1011, "the other side was cut");
  else socket.close(code, reason);
}

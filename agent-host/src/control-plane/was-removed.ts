/** @module How the home of a host learns that the operator has removed it, without a daemon. */
import { CLOSE } from "@sandbar/shared";
import WebSocket from "ws";

const ANSWER_MS = 10_000;

/** The control plane closes the link of a host that it does not know, and challenges any other. False when it does not answer. */
export function wasRemoved(url: string, hostId: string): Promise<boolean> {
  const socket = new WebSocket(`${url.replace(/^http/, "ws")}/agent/link/${hostId}`, {
    handshakeTimeout: ANSWER_MS,
  });
  const late = setTimeout(() => socket.terminate(), ANSWER_MS);
  return new Promise((resolve) => {
    socket.on("message", () => socket.close());
    // A close follows.
    socket.on("error", () => {});
    socket.on("close", (code) => {
      clearTimeout(late);
      resolve(code === CLOSE.removed);
    });
  });
}

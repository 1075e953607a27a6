import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { CLOSE, PROTOCOL_VERSION, type ServerFrame } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { backoffMs, Link } from "./link.ts";
import type { Log } from "./log.ts";

describe("redialling", () => {
  it("waits from 100 ms, doubling to 10 s, with jitter", () => {
    expect(backoffMs(0, 1)).toBe(100);
    expect(backoffMs(0, 0)).toBe(50);
    expect(backoffMs(3, 1)).toBe(800);
    expect(backoffMs(7, 1)).toBe(10_000);
    expect(backoffMs(1e9, 1)).toBe(10_000);
  });

  it("starts anew after a link that was cut, and not after one that was given up", async () => {
    const frame: ServerFrame = { t: "ack", session: "ses_1", execution: "exe_1", seq: 1, final: false };
    const again = [0, 0, 0, 0];
    const longer = [0, 1, 2, 3];
    for (const [then, attempts] of [
      [(socket: WebSocket) => socket.close(1001), again],
      [(socket: WebSocket) => socket.close(CLOSE.tryAgain), longer],
      [(socket: WebSocket) => socket.send(JSON.stringify(frame)), longer],
    ] as const) {
      const waits = await pauses(then);
      for (const [i, attempt] of attempts.entries()) {
        expect(waits[i]).toBeGreaterThanOrEqual(backoffMs(attempt, 0));
        expect(waits[i]).toBeLessThanOrEqual(backoffMs(attempt, 1));
      }
    }
  });
});

/** How long it waited, each time, when a fake control plane welcomes it and then does this. */
async function pauses(then: (socket: WebSocket) => void): Promise<number[]> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  server.on("connection", (socket) => {
    socket.send(JSON.stringify({ t: "challenge", v: PROTOCOL_VERSION, nonce: "n" }));
    socket.once("message", () => {
      socket.send(JSON.stringify({ t: "welcome", epoch: 1, heartbeat_ms: 15_000 }));
      then(socket);
    });
  });
  const waits: number[] = [];
  const enough = Promise.withResolvers<void>();
  const note = ({ wait }: { wait?: number }) => {
    if (wait === undefined) return;
    waits.push(wait);
    if (waits.length === 4) enough.resolve();
  };
  const log = { debug() {}, info: note, warn: note, error: note } as unknown as Log;
  const link = new Link({
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hostId: "hst_1",
    version: "0",
    boot: "b",
    log,
    sign: async () => "proof",
    describe: () => ({ last_n: 0, capacity: {} as never, sessions: [] }),
    onWelcome() {},
    onFrame() {
      throw new Error("cannot be handled");
    },
    onUnreadableCommand() {},
    onEnd() {},
    onCongestion() {},
  });
  link.start();
  try {
    await enough.promise;
  } finally {
    link.stop();
    for (const socket of server.clients) socket.terminate();
    server.close();
  }
  return waits;
}

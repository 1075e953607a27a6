import { once } from "node:events";
import type { AddressInfo } from "node:net";
import {
  CLOSE,
  FRAME_LIMIT_BYTES,
  framesOf,
  HEARTBEAT_REQUEST,
  type HostFrame,
  PROTOCOL_VERSION,
  type ServerFrame,
} from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { type WebSocket, WebSocketServer } from "ws";
import { Figures } from "../host/figures.ts";
import type { Log } from "../host/log.ts";
import { backoffMs } from "../io/backoff.ts";
import { Link, type LinkOptions } from "./link.ts";

describe("redialling", () => {
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
        expect(waits[i]).toBeGreaterThanOrEqual(backoffMs(attempt, undefined, 0));
        expect(waits[i]).toBeLessThanOrEqual(backoffMs(attempt, undefined, 1));
      }
    }
  });
});

describe("what one session causes", () => {
  const huge = "x".repeat(FRAME_LIMIT_BYTES);

  it("never makes a message that the control plane would close the link for", async () => {
    const sessions = Array.from({ length: 1000 }, (_, i) => `ses_${i}`);
    const { messages, answered } = await said({
      describe: (brief) => ({
        last_n: 0,
        capacity: {} as never,
        sessions: sessions.map((session) => ({
          session,
          report: brief
            ? { state: "creating" }
            : { state: "failed", failure: { code: "HOST_ERROR", detail: "y".repeat(4000) } },
        })),
      }),
      send: (link) => {
        link.send({ t: "answer", id: "req_1", result: huge });
        link.send({ t: "answer", id: "req_2", result: "fine" });
      },
    });
    expect(messages.map((text) => text.length <= FRAME_LIMIT_BYTES)).not.toContain(false);
    const [hello] = messages.flatMap(framesOf).map((text) => JSON.parse(text) as HostFrame);
    expect(hello).toMatchObject({ t: "hello" });
    expect((hello as { sessions: { session: string }[] }).sessions.map(({ session }) => session)).toEqual(
      sessions,
    );
    expect(answered).toEqual([
      { t: "answer", id: "req_1", failure: { code: "HOST_ERROR", detail: expect.any(String) } },
      { t: "answer", id: "req_2", result: "fine" },
    ]);
  });
});

describe("versions", () => {
  it.each([
    ["its own", PROTOCOL_VERSION, PROTOCOL_VERSION],
    ["the one before", PROTOCOL_VERSION - 1, PROTOCOL_VERSION - 1],
    ["a newer one, which knows this one", PROTOCOL_VERSION + 1, PROTOCOL_VERSION],
    ["one that it does not know", PROTOCOL_VERSION - 2, "closed"],
  ])("to a control plane of %s it speaks what both know", async (_, theirs, spoken) => {
    expect(await answeredTo(theirs)).toBe(spoken);
  });
});

/** The version of the hello that a link says to such a challenge. */
async function answeredTo(v: number): Promise<number | "closed"> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const answer = Promise.withResolvers<number | "closed">();
  server.on("connection", (socket) => {
    socket.send(JSON.stringify({ t: "challenge", v, nonce: "n" }));
    socket.once("message", (data) => answer.resolve((JSON.parse(data.toString()) as { v: number }).v));
    socket.once("close", (code) => answer.resolve(code === CLOSE.protocol ? "closed" : code));
  });
  const link = new Link(linkOptions(server));
  link.start();
  try {
    return await answer.promise;
  } finally {
    link.stop();
    for (const socket of server.clients) socket.terminate();
    server.close();
  }
}

/** What a fake control plane hears of a link that is welcomed and then used like this, up to two answers. */
async function said(use: {
  describe: LinkOptions["describe"];
  send(link: Link): void;
}): Promise<{ messages: string[]; answered: HostFrame[] }> {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await once(server, "listening");
  const messages: string[] = [];
  const answered: HostFrame[] = [];
  const enough = Promise.withResolvers<void>();
  server.on("connection", (socket) => {
    socket.send(JSON.stringify({ t: "challenge", v: PROTOCOL_VERSION, nonce: "n" }));
    socket.on("message", (data) => {
      if (data.toString() === HEARTBEAT_REQUEST) return;
      messages.push(data.toString());
      if (messages.length === 1)
        socket.send(JSON.stringify({ t: "welcome", epoch: 1, heartbeat_ms: 15_000 }));
      for (const text of framesOf(data.toString())) {
        const frame = JSON.parse(text) as HostFrame;
        if (frame.t === "answer" && answered.push(frame) === 2) enough.resolve();
      }
    });
  });
  const link: Link = new Link({
    ...linkOptions(server),
    describe: use.describe,
    onWelcome: () => use.send(link),
  });
  link.start();
  try {
    await enough.promise;
  } finally {
    link.stop();
    for (const socket of server.clients) socket.terminate();
    server.close();
  }
  return { messages, answered };
}

function linkOptions(server: WebSocketServer): LinkOptions {
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hostId: "hst_1",
    version: "0",
    boot: "b",
    log: { debug() {}, info() {}, warn() {}, error() {} } as unknown as Log,
    figures: new Figures(),
    sign: async () => "proof",
    describe: () => ({ last_n: 0, capacity: {} as never, sessions: [] }),
    onWelcome() {},
    onFrame() {},
    onUnreadableCommand() {},
    onEnd() {},
    onCongestion() {},
  };
}

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
    ...linkOptions(server),
    log,
    onFrame() {
      throw new Error("cannot be handled");
    },
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

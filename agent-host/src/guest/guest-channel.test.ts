import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setImmediate, setTimeout as sleep } from "node:timers/promises";
import { GUEST_LINE_LIMIT_BYTES, GUEST_PROTOCOL_VERSION, type GuestMessage } from "@sandbar/shared";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLog } from "../host/log.ts";
import { GuestChannel } from "./guest-channel.ts";

const HELLO = { type: "hello", v: 1, languages: ["python"], contexts: [], executions: [] };

let folder: string;
let channel: GuestChannel;
let heard: GuestMessage[];
let hellos: number;
let violations: string[];

async function open(tokenGiven: boolean): Promise<void> {
  channel = new GuestChannel({
    runFolder: folder,
    token: "the-token",
    tokenGiven,
    log: createLog("silent"),
    onHello: () => hellos++,
    onMessage: (message) => heard.push(message),
    onDown: () => {},
    onProxied: (socket) => socket.end("proxied\n"),
    onViolations: (reason) => violations.push(reason),
  });
  await channel.listen();
}

async function dial(...lines: unknown[]): Promise<net.Socket> {
  // The path is longer than a socket's may be; so is the guest's way round it.
  process.chdir(folder);
  const socket = net.connect("daemon.sock");
  socket.on("error", () => {});
  await once(socket, "connect");
  for (const line of lines) socket.write(`${typeof line === "string" ? line : JSON.stringify(line)}\n`);
  return socket;
}

async function closed(socket: net.Socket): Promise<boolean> {
  if (socket.destroyed) return true;
  socket.resume();
  return Promise.race([once(socket, "close").then(() => true), sleep(20_000, false)]);
}

beforeEach(() => {
  heard = [];
  hellos = 0;
  violations = [];
  folder = path.join(mkdtempSync(path.join(tmpdir(), "sandbar-channel-")), "long".repeat(30));
  mkdirSync(folder);
});
afterEach(async () => {
  await channel.close();
  process.chdir("/");
  rmSync(path.dirname(folder), { recursive: true, force: true });
});

describe("the guest's socket", () => {
  it("gives its secret to the first hello only, then asks for it", async () => {
    await open(false);
    const first = await dial(HELLO);
    const [answer] = await once(first, "data");
    expect(JSON.parse(String(answer))).toEqual({ type: "welcome", token: "the-token" });
    expect(await closed(await dial(HELLO))).toBe(true);
    expect(await closed(await dial({ ...HELLO, token: "a-guess" }))).toBe(true);
    expect(channel.connected).toBe(true);
    await dial({ ...HELLO, token: "the-token" });
    expect(await closed(first)).toBe(true);
    expect(hellos).toBe(2);
  });

  it("takes a guest that has the secret already for the first one, and asks for it then", async () => {
    await open(false);
    const guest = await dial({ ...HELLO, token: "the-token" });
    await once(guest, "data");
    expect(await closed(await dial(HELLO))).toBe(true);
    expect(channel.connected).toBe(true);
    expect(hellos).toBe(1);
  });

  it("knows no first hello after a restart", async () => {
    await open(true);
    expect(await closed(await dial(HELLO))).toBe(true);
    expect(hellos).toBe(0);
  });

  it("closes what says nothing for 2 s, or does not begin with hello", async () => {
    await open(true);
    const silent = await dial();
    expect(await closed(await dial({ type: "late", context: "c", stream: "stdout", text: "" }))).toBe(true);
    expect(await closed(await dial("nonsense"))).toBe(true);
    expect(await closed(silent)).toBe(true);
    expect(violations).toEqual([]);
  });

  it("lets nobody without the secret hold much, or keep the guest out", async () => {
    await open(true);
    const guest = await dial({ ...HELLO, token: "the-token" });
    await once(guest, "data");
    const silent = await Promise.all(Array.from({ length: 200 }, () => dial()));
    for (const socket of silent) socket.resume();
    await vi.waitFor(() => expect(silent.filter((socket) => !socket.closed)).toHaveLength(8), 10_000);
    // Neither a transfer nor a new dial waits for them to go.
    const expected = channel.transfers.expect();
    await dial({ type: "transfer", token: "the-token", transfer: expected.id });
    await expected.socket;
    await dial({ ...HELLO, token: "the-token" });
    expect(await closed(guest)).toBe(true);
    expect(hellos).toBe(2);
  });

  it("hands over what goes out, and nothing of those without the secret", async () => {
    await open(true);
    const proxied = await Promise.all(
      Array.from({ length: 40 }, () => dial({ type: "proxy", token: "the-token" })),
    );
    for (const socket of proxied) expect(String((await once(socket, "data"))[0])).toBe("proxied\n");
    expect(await closed(await dial({ type: "proxy", token: "a-guess" }))).toBe(true);
    expect(hellos).toBe(0);
  });

  it("hears a guest that speaks in the middle of a crowd", async () => {
    await open(true);
    process.chdir(folder);
    const crowd = Array.from({ length: 100 }, (_, i) => {
      const socket = net.connect("daemon.sock");
      socket.on("error", () => {});
      if (i === 50) socket.write(`${JSON.stringify({ ...HELLO, token: "the-token" })}\n`);
      return socket;
    });
    const [welcome] = await once(crowd[50]!, "data");
    expect(JSON.parse(String(welcome))).toMatchObject({ type: "welcome" });
    for (const socket of crowd) socket.destroy();
  });

  it("takes a short first line only, in however many pieces", async () => {
    await open(true);
    const long = await dial();
    long.write("x".repeat(65 * 1024));
    expect(await closed(long)).toBe(true);
    const slow = await dial();
    for (const character of `${JSON.stringify({ ...HELLO, token: "the-token" })}\n`) {
      slow.write(character);
      await setImmediate();
    }
    await once(slow, "data");
    expect(hellos).toBe(1);
  });

  it("refuses a guest of another version, says why, and takes its own, newer ones of it, and the one before", async () => {
    await open(true);
    expect(await closed(await dial({ ...HELLO, v: 2 }))).toBe(true);
    expect(violations).toEqual([]);
    expect(await closed(await dial({ ...HELLO, v: 2, token: "the-token" }))).toBe(true);
    expect(violations).toEqual([expect.stringContaining("version 2")]);
    expect(hellos).toBe(0);
    await once(await dial({ ...HELLO, v: 1.5, token: "the-token" }), "data");
    expect(hellos).toBe(1);
    await once(await dial({ ...HELLO, v: GUEST_PROTOCOL_VERSION - 1, token: "the-token" }), "data");
    expect(hellos).toBe(2);
  });

  it("drops a guest that breaks the protocol, and gives it up after some times", async () => {
    await open(true);
    const bad = [
      "not json",
      '{"type":"unknown"}',
      '{"type":"event","execution":"e","event":{"type":"stdout","seq":-1,"text":"x"}}',
      '{"type":"event","execution":"e","event":{"type":"stdout","seq":1,"text":7}}',
      "x".repeat(GUEST_LINE_LIMIT_BYTES + 1),
    ];
    for (const line of bad)
      expect(await closed(await dial({ ...HELLO, token: "the-token" }, line))).toBe(true);
    expect(violations).toHaveLength(1);
    expect(heard).toEqual([]);
  });

  it("does not read while paused", async () => {
    await open(true);
    const guest = await dial({ ...HELLO, token: "the-token" });
    await once(guest, "data");
    channel.pause(true);
    guest.write(`${JSON.stringify({ type: "late", context: "c", stream: "stdout", text: "x" })}\n`);
    await sleep(50);
    expect(heard).toEqual([]);
    channel.pause(false);
    await vi.waitFor(() => expect(heard).toHaveLength(1), 10_000);
  });
});

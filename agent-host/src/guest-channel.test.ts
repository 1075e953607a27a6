import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { GUEST_LINE_LIMIT_BYTES, type GuestMessage } from "@sandbar/shared";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GuestChannel } from "./guest-channel.ts";
import { createLog } from "./log.ts";

const HELLO = { type: "hello", v: 1, languages: ["python"], contexts: [], executions: [] };

let folder: string;
let channel: GuestChannel;
let heard: GuestMessage[];
let hellos: number;
let violations: number;

async function open(tokenGiven: boolean): Promise<void> {
  channel = new GuestChannel({
    runFolder: folder,
    token: "the-token",
    tokenGiven,
    log: createLog("silent"),
    onHello: () => hellos++,
    onMessage: (message) => heard.push(message),
    onDown: () => {},
    onViolations: () => violations++,
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

async function closed(socket: net.Socket, ms = 1000): Promise<boolean> {
  if (socket.destroyed) return true;
  socket.resume();
  return Promise.race([once(socket, "close").then(() => true), sleep(ms, false)]);
}

beforeEach(() => {
  heard = [];
  hellos = 0;
  violations = 0;
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
    expect(await closed(silent, 3000)).toBe(true);
    expect(violations).toBe(0);
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
    expect(violations).toBe(1);
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
    await sleep(50);
    expect(heard).toHaveLength(1);
  });
});

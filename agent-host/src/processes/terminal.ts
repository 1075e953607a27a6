/**
 * A client's WebSocket on a process's terminal. Binary frames are bytes both ways; text from the client is bytes too,
 * unless it is a control message, and text to the client is always one.
 *
 * @module
 */
import type { Socket } from "node:net";
import { readJson, signalName, TerminalSizeSchema } from "@sandbar/shared";
import type WebSocket from "ws";
import { z } from "zod";
import { dialGuest, sendPaced, type TunnelGuest, type Tunnels } from "../guest/tunnels.ts";
import type { Log } from "../host/log.ts";

const FRAME_BYTES = 64 * 1024;
const CONTROL_CHARS = 256;

const ResizeSchema = TerminalSizeSchema.extend({ type: z.literal("resize") });

export async function openTerminal(
  guest: TunnelGuest,
  tunnels: Tunnels,
  { grant, process, after }: { grant: string; process: string; after: number },
  log: Log,
): Promise<void> {
  const terminal = await dialGuest(guest, { process, after });
  const client = tunnels.dial(grant, guest.idleMs);
  client.on("error", (error) => {
    log.debug({ err: error, process }, "terminal's tunnel");
    terminal.destroy();
  });
  client.once("open", () => {
    client.send(JSON.stringify({ type: "process", id: process }));
    connect(guest, process, terminal, client);
  });
}

function connect(guest: TunnelGuest, process: string, terminal: Socket, client: WebSocket): void {
  if (terminal.destroyed) return void sayWhy(guest, process, client);
  client.on("message", (data: Buffer, binary) => {
    const size = binary ? null : resizeIn(data);
    if (size) void guest.call("ps.resize", { process, ...size }).catch(() => {});
    else if (!terminal.write(data)) client.pause();
  });
  client.once("close", () => terminal.destroy());
  terminal.on("drain", () => client.resume());
  terminal.on("data", (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; at += FRAME_BYTES)
      sendPaced(client, chunk.subarray(at, at + FRAME_BYTES), true, terminal);
  });
  terminal.once("close", () => void sayWhy(guest, process, client));
  terminal.resume();
}

async function sayWhy(guest: TunnelGuest, process: string, client: WebSocket): Promise<void> {
  const info = await guest.call("ps.get", { process }).catch(() => null);
  const exit = info?.exit;
  if (!exit) return client.close(1001, "the process is out of reach");
  const signal = exit.signal === null ? null : signalName(exit.signal);
  client.send(JSON.stringify({ type: "exit", exit_code: exit.exit_code, signal }));
  client.close(1000, "exited");
}

function resizeIn(data: Buffer): { cols: number; rows: number } | null {
  if (data.length > CONTROL_CHARS || data[0] !== 0x7b) return null;
  const parsed = ResizeSchema.safeParse(readJson(data.toString("utf8")));
  return parsed.success ? { cols: parsed.data.cols, rows: parsed.data.rows } : null;
}

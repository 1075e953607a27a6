import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ControlPlaneHttp } from "../control-plane/control-plane-http.ts";
import { type GuestFiles, readFromGuest, writeToGuest } from "./guest-transfers.ts";
import { TransferSockets } from "./transfer-sockets.ts";

const folder = mkdtempSync(join(tmpdir(), "sandbar-guest-transfers-"));
const seen: string[] = [];
const plane = http.createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    seen.push(`${request.method} ${request.url} ${Buffer.concat(chunks)}`);
    response.writeHead(204).end();
  });
});
const channel = net.createServer();

beforeAll(async () => {
  await once(plane.listen(0, "127.0.0.1"), "listening");
  await once(channel.listen(join(folder, "daemon.sock")), "listening");
});
afterAll(() => {
  plane.closeAllConnections();
  plane.close();
  channel.close();
  rmSync(folder, { recursive: true });
});

/** In an image of its own a tenant's guest may be anything. This fake one promises so many bytes and sends these. */
function fakeGuest(length: number, bytes: string): GuestFiles {
  const transfers = new TransferSockets();
  return {
    transfers,
    async call(_method, { transfer }) {
      const accepted = once(channel, "connection");
      net.connect(join(folder, "daemon.sock")).end(bytes);
      transfers.attach(transfer as string, (await accepted)[0] as net.Socket);
      return { size: length, offset: 0, length, mtime_ns: "0", mode: 0o644 } as never;
    },
  };
}

it("a guest that sends more than it promised makes no requests of its own", async () => {
  const http = new ControlPlaneHttp(`http://127.0.0.1:${(plane.address() as AddressInfo).port}`);
  const push = async (grant: string, guest: GuestFiles) => {
    const { info, stream } = await readFromGuest(guest, { path: "x" });
    return http.push(grant, stream, info.length);
  };
  await push("honest", fakeGuest(5, "hello"));
  const smuggled = "PUT /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
  await expect(push("liar", fakeGuest(5, `hello${smuggled}`))).rejects.toThrow("longer");
  await expect(push("miser", fakeGuest(6, "hello"))).rejects.toThrow("shorter");
  await push("later", fakeGuest(5, "hello"));
  expect(seen.map((request) => request.replace("/agent/transfers/", ""))).toEqual([
    "PUT honest hello",
    "PUT later hello",
  ]);
});

/** It takes so many bytes and then does nothing more, until it is let go. */
function lazyGuest(takes: number): GuestFiles {
  const transfers = new TransferSockets();
  return {
    transfers,
    async call(_method, { transfer }) {
      const accepted = once(channel, "connection");
      const socket = net.connect(join(folder, "daemon.sock"));
      socket.on("data", (chunk) => {
        takes -= chunk.length;
        if (takes <= 0) socket.pause();
      });
      transfers.attach(transfer as string, (await accepted)[0] as net.Socket);
      await once(socket, "close");
      throw new Error("cut");
    },
  };
}

it("a transfer that stands still says whether the sender or the guest has stopped", async () => {
  const silent = new PassThrough();
  silent.write("some");
  const waiting = writeToGuest(lazyGuest(1e9), { path: "x" }, silent, 100);
  await expect(waiting).rejects.toMatchObject({ code: "REQUEST_TIMEOUT" });
  const generous = new PassThrough();
  generous.end(Buffer.alloc(16 * 1024 * 1024));
  const stuck = writeToGuest(lazyGuest(1), { path: "x" }, generous, 100);
  await expect(stuck).rejects.toMatchObject({ code: "TRANSFER_FAILED" });
});

import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ControlPlaneHttp } from "./control-plane-http.ts";
import { type GuestFiles, readFromGuest } from "./guest-transfers.ts";
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
      return { size: length, offset: 0, length, mtime_ns: "0", mode: 0o644 };
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

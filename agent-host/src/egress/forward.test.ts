import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { forwardRequest, forwardUpgrade, refuse, refuseRaw, type Upstream } from "./forward.ts";

/** A server that answers whatever it is told to, in bytes. */
let raw = "";
const server = net.createServer((socket) => {
  socket.on("error", () => {});
  socket.once("data", () => socket.end(raw, "latin1"));
});
const proxy = http.createServer();
let upstream: Upstream;

beforeAll(async () => {
  for (const one of [server, proxy]) await once(one.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as net.AddressInfo;
  const addresses = [{ address: "127.0.0.1", family: 4 }];
  upstream = { target: { host: "a.test", port }, addresses, path: "/" };
  proxy.on("request", (request, response) => {
    forwardRequest(upstream, request, response).catch((error) => refuse(response, error));
  });
  proxy.on("upgrade", (request, client, head) => {
    forwardUpgrade(upstream, request, client as net.Socket, head).catch((error) =>
      refuseRaw(client as net.Socket, error),
    );
  });
});
afterAll(() => {
  server.close();
  proxy.close();
  proxy.closeAllConnections();
});

async function ask(answer: string, more = "Connection: close\r\n"): Promise<string> {
  raw = answer;
  const client = net.connect((proxy.address() as net.AddressInfo).port, "127.0.0.1");
  client.write(`GET / HTTP/1.1\r\nHost: x\r\n${more}\r\n`);
  return text(client);
}
const upgrade = (answer: string) => ask(answer, "Connection: Upgrade\r\nUpgrade: websocket\r\n");

describe("a server's answer", () => {
  for (const [how, through] of [
    ["to a request", ask],
    ["to a request for a WebSocket", upgrade],
  ] as const) {
    it(`${how} that is none is said to be, whatever it is`, async () => {
      for (const bad of [
        "HTTP/1.1 099 x\r\nContent-Length: 9\r\n\r\nhalf",
        "HTTP/1.1 099 x\r\n\r\n",
        "HTTP/1.1 000 x\r\n\r\n",
        "HTTP/1.1 101 x\r\n\r\n",
        "SSH-2.0\r\n",
      ])
        expect(await through(bad), bad).toMatch(/^HTTP\/1\.1 502 Bad Gateway\r\n/);
      for (const bad of ["A\x01: b", "A: b\x01c", "A: b\0c", "A b: c"])
        expect(await through(`HTTP/1.1 200 O\x01K\r\n${bad}\r\n\r\n`), bad).toMatch(
          /^HTTP\/1\.1 (502 Bad Gateway|200 OK)\r\n/,
        );
    });

    it(`${how} keeps its words where they are text`, async () => {
      expect(await through("HTTP/1.1 200 O\x01K\r\nContent-Length: 2\r\n\r\nhi")).toMatch(
        /^HTTP\/1\.1 200 OK\r\n[\s\S]*hi$/,
      );
      expect(await through("HTTP/1.1 299 Rather Good\r\n\r\n")).toContain("299 Rather Good");
      expect(await through("HTTP/1.1 299 \x01\r\n\r\n")).toMatch(/^HTTP\/1\.1 299 \r\n/);
    });
  }
});

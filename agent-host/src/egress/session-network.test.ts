import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import http, { createServer, type Server } from "node:http";
import https from "node:https";
import net, { type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { type TLSSocket, connect as tls } from "node:tls";
import { type NetworkConnection, PROXIED_LIMIT } from "@sandbar/shared";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocketServer } from "ws";
import { type Certificate, issue, makeAuthority } from "./authority.ts";
import { joined } from "./forward.ts";
import type { Carried } from "./passages.ts";
import { Reachable } from "./reachable.ts";
import { SessionNetwork } from "./session-network.ts";

/** A server of plain HTTP at 127.0.0.1, which the operator of this test opens; 127.0.0.2 is not opened. */
let server: Server;
let port = 0;
/** Connections come through a UNIX socket, as the guest's do. */
let door: net.Server;
const folder = mkdtempSync(path.join(tmpdir(), "sandbar-egress-"));
const file = path.join(folder, "door.sock");
const names: Record<string, string[]> = { "a.test": ["127.0.0.1"], "moved.test": ["127.0.0.2"] };
const told: NetworkConnection[] = [];
const carried: Carried[] = [];
/** The sandbox's own authority, and the one that the operator trusts. */
let authority: Certificate;
let trusted: Certificate;
let asked = 0;
let lookups = 0;
let secrets: { host: string; header: string; secret?: string; value: string | null }[] = [];
let network: SessionNetwork;
/** The proxy's side of connections. */
const arrived: Socket[] = [];
let certificateAfter: Promise<void> = Promise.resolve();
/** Addresses of a name that takes a while. */
let slow: Promise<string[]> = Promise.resolve([]);

beforeAll(async () => {
  [authority, trusted] = await Promise.all([makeAuthority("Sandbox"), makeAuthority("Operator")]);
  server = createServer(async (request, response) => {
    const seen = {
      url: request.url,
      host: request.headers.host,
      headers: request.rawHeaders,
      body: await text(request),
    };
    if (request.url === "/redirect") response.writeHead(302, { location: "http://denied.test/" });
    response.end(JSON.stringify(seen));
  });
  const sockets = new WebSocketServer({ server });
  sockets.on("connection", (socket) => socket.on("message", (data) => socket.send(`echo ${data}`)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  port = (server.address() as net.AddressInfo).port;
  network = new SessionNetwork({
    rules: {
      version: 1,
      allow: [`a.test:${port}`, `moved.test:${port}`, `gone.test:${port}`, `127.0.0.2:${port}`],
    },
    resolve: async (host) => {
      lookups++;
      const found = host === "slow.test" ? await slow : (names[host] ?? []);
      return found.map((address) => ({ address, family: 4 }));
    },
    reachable: new Reachable(["127.0.0.1"]),
    tell: (connections, _dropped, bytes) => {
      told.push(...connections);
      carried.push(bytes);
    },
    authority: async () => {
      await certificateAfter;
      return authority;
    },
    trusted: async () => [trusted.cert],
    askSecrets: async () => {
      asked++;
      return { version: 9, values: secrets.map((secret) => ({ ...secret })) };
    },
  });
  door = net.createServer((socket) => {
    socket.on("error", () => {});
    arrived.push(socket);
    socket.once("data", (first: Buffer) => {
      // What the guest's channel does with what follows its first line.
      socket.pause();
      socket.unshift(first);
      network.serve(socket);
    });
  });
  await new Promise<void>((resolve) => door.listen(file, resolve));
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
  door.close();
  rmSync(folder, { recursive: true });
});

async function dial(): Promise<Socket> {
  const socket = net.connect(file);
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

async function ask(raw: string): Promise<string> {
  const socket = await dial();
  socket.write(raw);
  return text(socket);
}

const get = (url: string, more = "") =>
  ask(`GET ${url} HTTP/1.1\r\nHost: ignored\r\nConnection: close\r\n${more}\r\n`);
const connect = (authority: string) => ask(`CONNECT ${authority} HTTP/1.1\r\n\r\n`);

describe("plain HTTP", () => {
  it("reaches a name of the rules, with the name that was checked as its Host", async () => {
    const good = await get(
      `http://a.test:${port}/x?y`,
      "Host: other.test\r\nProxy-Authorization: Basic x\r\nX-Own: 1\r\n",
    );
    expect(good).toContain("200 OK");
    expect(good).toContain(`"host":"a.test:${port}"`);
    expect(good).toContain('"url":"/x?y"');
    expect(good).toContain('"X-Own","1"');
    expect(good).not.toMatch(/Basic x|other\.test|ignored/);
  });

  it("carries a body whole, chunked or counted, whatever the method", async () => {
    const chunked = "5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    const answer = await get(
      `http://a.test:${port}/`,
      `Transfer-Encoding: chunked\r\n\r\n${chunked}`.replace(/\r\n$/, ""),
    );
    expect(answer).toContain('"body":"hello world"');
    const counted = await ask(
      `POST http://a.test:${port}/ HTTP/1.1\r\nHost: a\r\nConnection: close, content-length\r\nContent-Length: 5\r\n\r\nhello`,
    );
    expect(counted).toContain('"body":"hello"');
  });

  it("leaves redirects to the client, whose next request is checked", async () => {
    expect(await get(`http://a.test:${port}/redirect`)).toMatch(/302 Found[\s\S]*denied\.test/);
    expect(await get("http://denied.test/")).toMatch(/403 Forbidden[\s\S]*denied\.test:80 is not among/);
  });

  it("serves one connection's requests one after another, each under the rules", async () => {
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const via = (url: string) =>
      new Promise<number>((resolve, reject) => {
        const asked = http.request(
          { socketPath: file, path: url, agent, headers: { host: "x" } },
          (answer) => {
            answer.resume().on("end", () => resolve(answer.statusCode!));
          },
        );
        asked.on("error", reject).end();
      });
    expect(await via(`http://a.test:${port}/1`)).toBe(200);
    expect(await via(`http://a.test:${port}/2`)).toBe(200);
    const path = "x".repeat(8000);
    for (let count = 0; count < 100; count++) expect(await via(`http://a.test:${port}/${path}`)).toBe(200);
    expect(await via("http://b.test/")).toBe(403);
    agent.destroy();
  });
});

describe("CONNECT", () => {
  it("makes a tunnel to a name of the rules", async () => {
    const socket = await dial();
    socket.write(`CONNECT a.test:${port} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const [first] = await once(socket, "data");
    expect(String(first)).toBe("HTTP/1.1 200 Connection established\r\n\r\n");
    socket.write("GET /tunnelled HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n");
    expect(await text(socket)).toContain('"url":"/tunnelled"');
  });

  it("refuses other names, private addresses by name or number, and names without address", async () => {
    expect(await connect(`b.test:${port}`)).toContain("403 Forbidden");
    expect(await connect(`a.test:22`)).toContain("403 Forbidden");
    expect(await connect(`moved.test:${port}`)).toMatch(/403[\s\S]*private/);
    expect(await connect(`127.0.0.2:${port}`)).toMatch(/403[\s\S]*private/);
    expect(await connect(`127.0.0.1:${port}`)).toMatch(/403[\s\S]*not among/);
    expect(await connect(`gone.test:${port}`)).toMatch(/502[\s\S]*not found/);
  });

  it("looks each time anew: a name that moves to a private address is refused from then on", async () => {
    names["a.test"] = ["127.0.0.2"];
    expect(await connect(`a.test:${port}`)).toMatch(/403[\s\S]*private/);
    names["a.test"] = ["127.0.0.1", "127.0.0.2"];
    expect(await connect(`a.test:${port}`)).toMatch(/403[\s\S]*private/);
    names["a.test"] = ["127.0.0.1"];
  });

  it("says what is wrong with a request that it cannot read", async () => {
    for (const raw of [
      "CONNECT nonsense HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
      "\x16\x03\x01\r\n\r\n",
    ])
      expect(await ask(raw), raw).toContain("HTTP/1.1 400 Bad Request");
    expect(await get("https://a.test/")).toContain("400 Bad Request");
  });
});

describe("a WebSocket", () => {
  it("goes through as a request of its own", async () => {
    const key = "dGhlIHNhbXBsZSBub25jZQ==";
    const socket = await dial();
    socket.write(
      `GET http://a.test:${port}/ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n\r\n`,
    );
    const [head] = await once(socket, "data");
    expect(String(head)).toMatch(/^HTTP\/1\.1 101/);
    // A masked text frame with the mask 0: `hi`.
    socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
    const [frame] = await once(socket, "data");
    expect(String(frame)).toContain("echo hi");
    socket.destroy();
  });
});

describe("a client that does not wait for answers", () => {
  const request = () => `GET http://slow.test:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`;

  it("has one request on its way, and the next one refused", async () => {
    await vi.waitFor(() => expect(network.state.use.open).toBe(0));
    network.rules = { version: 1, allow: [`a.test:${port}`, `slow.test:${port}`] };
    lookups = 0;
    const { promise, resolve } = Promise.withResolvers<string[]>();
    slow = promise;
    const socket = await dial();
    socket.write(request().repeat(1000));
    await vi.waitFor(() => expect(network.state.use.open).toBe(1));
    resolve(["127.0.0.1"]);
    const answers = await text(socket);
    expect(answers).toMatch(
      /^HTTP\/1\.1 200 OK[\s\S]*HTTP\/1\.1 503 Service Unavailable[\s\S]*wait for the answer/,
    );
    expect(answers.match(/200 OK/g)).toHaveLength(1);
    expect(lookups).toBe(1);
  });

  it("makes no tunnel behind a request", async () => {
    const { promise, resolve } = Promise.withResolvers<string[]>();
    slow = promise;
    const socket = await dial();
    socket.write(`${request()}CONNECT a.test:${port} HTTP/1.1\r\n\r\n`);
    expect(await text(socket)).toBe("");
    resolve(["127.0.0.1"]);
    await vi.waitFor(() => expect(network.state.use.open).toBe(0));
  });

  it("and opens more than the limit is refused", async () => {
    const { promise, resolve } = Promise.withResolvers<string[]>();
    slow = promise;
    const gone: Socket[] = [];
    for (let count = 0; count < PROXIED_LIMIT; count++) {
      const socket = await dial();
      socket.write(request());
      gone.push(socket);
    }
    await vi.waitFor(() => expect(network.state.use.open).toBe(PROXIED_LIMIT));
    const inside = arrived.slice(-PROXIED_LIMIT);
    for (const socket of gone) socket.destroy();
    await vi.waitFor(() => expect(inside.every(({ closed }) => closed)).toBe(true));
    expect(await get(`http://a.test:${port}/`)).toMatch(/503[\s\S]*connections already/);
    resolve(["127.0.0.1"]);
    await vi.waitFor(() => expect(network.state.use.open).toBe(0));
    expect(await get(`http://a.test:${port}/`)).toContain("200 OK");
  });
});

describe("a client that leaves", () => {
  it("while its name is looked up is connected to nothing", async () => {
    const plain = `GET http://slow.test:${port}/ HTTP/1.1\r\nHost: x\r\n`;
    let accepted = 0;
    const count = () => accepted++;
    await vi.waitFor(() => expect(network.state.use.open).toBe(0));
    server.on("connection", count);
    network.rules = { version: 1, allow: [`a.test:${port}`, `slow.test:${port}`] };
    for (const raw of [
      `CONNECT slow.test:${port} HTTP/1.1\r\n`,
      plain,
      `${plain}Connection: Upgrade\r\nUpgrade: websocket\r\n`,
    ]) {
      const { promise, resolve } = Promise.withResolvers<string[]>();
      slow = promise;
      const socket = await dial();
      socket.write(`${raw}\r\n`);
      await vi.waitFor(() => expect(network.state.use.open).toBe(1));
      const [inside] = arrived.slice(-1);
      socket.destroy();
      await vi.waitFor(() => expect(inside!.closed).toBe(true));
      resolve(["127.0.0.1"]);
      await vi.waitFor(() => expect(network.state.use.open).toBe(0));
      expect(network.state.use.recent.at(-1)).toMatchObject({ detail: "the client went away" });
    }
    expect(await get(`http://a.test:${port}/`)).toContain("200 OK");
    server.off("connection", count);
    expect(accepted).toBe(1);
  });

  it("while both sides are joined leaves nothing, whichever is closed already", async () => {
    for (const gone of [0, 1]) {
      const pair = await Promise.all([dial(), dial()]);
      pair[gone]!.destroy();
      await once(pair[gone]!, "close");
      await joined(...pair);
      expect(pair.map(({ closed }) => closed)).toEqual([true, true]);
    }
  });
});

describe("a share that is used up", () => {
  it("ends what is open, and nothing is connected until then; bytes are told while a connection is open", async () => {
    await vi.waitFor(() => expect(network.state.use.open).toBe(0));
    const socket = await dial();
    socket.write(`CONNECT a.test:${port} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    const before = carried.at(-1)?.bytes ?? 0;
    socket.write("GET /counted HTTP/1.1\r\nHost: x\r\n\r\n");
    await once(socket, "data");
    await vi.waitFor(() => expect(carried.at(-1)!.bytes).toBeGreaterThan(before + 100), 5_000);
    expect(network.state.use.open).toBe(1);
    expect(new Set(carried.map(({ since }) => since)).size).toBe(1);
    const closed = once(socket, "close");
    network.hold(Date.now() + 3_600_000, "QUOTA_EXCEEDED: egress_mb_per_day");
    await closed;
    const answer = await connect(`a.test:${port}`);
    expect(answer).toContain("429 Too Many Requests");
    expect(answer).toContain("egress_mb_per_day");
    network.hold(Date.now(), "");
    expect(await get(`http://a.test:${port}/again`)).toContain("200 OK");
  });
});

describe("other rules", () => {
  it("end what they do not allow, and leave the rest", async () => {
    await vi.waitFor(() => expect(network.state.use.open).toBe(0));
    const socket = await dial();
    socket.write(`CONNECT a.test:${port} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    const before = network.state.use;
    expect(before.open).toBe(1);
    network.rules = { version: 2, allow: [`a.test:${port}`] };
    socket.write("GET /still HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(String((await once(socket, "data"))[0])).toContain("200 OK");
    const closed = once(socket, "close");
    network.rules = { version: 3, allow: [] };
    await closed;
    expect(await connect(`a.test:${port}`)).toContain("403 Forbidden");
    expect(network.state.version).toBe(3);
  });

  it("are told of in lines, with bytes and reasons", async () => {
    const { use } = network.state;
    expect(use.open).toBe(0);
    expect(use.bytes_down).toBeGreaterThan(0);
    expect(use.bytes_up).toBeGreaterThan(0);
    expect(use.denied).toBeGreaterThan(5);
    const cutOff = use.recent.findLast(({ detail }) => detail.includes("any more"))!;
    expect(cutOff).toMatchObject({ host: "a.test", port, outcome: "denied" });
    expect(cutOff.bytes_down).toBeGreaterThan(100);
    expect(use.recent).toContainEqual(expect.objectContaining({ host: "a.test", outcome: "ok", detail: "" }));
  });
});

describe("a host with a secret", () => {
  let secure: https.Server;
  let at = 0;
  let untrusted: https.Server;
  let untrustedAt = 0;
  let own: { host: string; header: string }[] = [];

  const serve = async (issuer: Certificate) => {
    const made = https.createServer(await issue(issuer, "api.test"), (request, response) => {
      response.end(
        JSON.stringify({ url: request.url, host: request.headers.host, headers: request.rawHeaders }),
      );
    });
    const sockets = new WebSocketServer({ server: made });
    sockets.on("connection", (socket, { headers }) => socket.send(`hello ${headers["x-key"]}`));
    await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
    return [made, (made.address() as net.AddressInfo).port] as const;
  };

  beforeAll(async () => {
    [secure, at] = await serve(trusted);
    [untrusted, untrustedAt] = await serve(await makeAuthority("Nobody"));
    names["api.test"] = ["127.0.0.1"];
    own = [
      { host: `api.test:${at}`, header: "X-Key" },
      { host: `api.test:${untrustedAt}`, header: "X-Key" },
    ];
    secrets = own.map((one) => ({ ...one, value: "s3cret" }));
    network.rules = { version: 5, allow: [], secrets: own };
  });
  afterAll(() => {
    for (const one of [secure, untrusted]) {
      one.close();
      one.closeAllConnections();
    }
  });

  async function tunnel(port: number, ca = authority.cert): Promise<TLSSocket> {
    const socket = await dial();
    socket.write(`CONNECT api.test:${port} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    const inner = tls({ socket, servername: "api.test", ca });
    inner.on("error", () => {});
    await once(inner, "secureConnect");
    return inner;
  }

  async function through(raw: string, port = at): Promise<string> {
    const inner = await tunnel(port);
    inner.write(raw);
    return text(inner);
  }

  it("gets it, whatever the code says, and the code does not", async () => {
    const answer = await through(
      "GET /v1 HTTP/1.1\r\nHost: evil.test\r\nx-key: mine\r\nConnection: close, X-Key\r\nX-Own: 1\r\n\r\n",
    );
    expect(answer).toContain(`"host":"api.test:${at}"`);
    expect(answer).toContain('"X-Key","s3cret"');
    expect(answer).toContain('"X-Own","1"');
    expect(answer).not.toMatch(/mine|evil/);
    expect(JSON.stringify(network.state)).not.toContain("s3cret");
  });

  it("is asked for by path only, and never to repeat what it was sent", async () => {
    expect(await through("GET https://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n")).toContain("400 Bad Request");
    expect(await through("TRACE / HTTP/1.1\r\nHost: x\r\n\r\n")).toContain("405 Method Not Allowed");
  });

  it("is not sent anything when its own certificate is not good", async () => {
    const answer = await through("GET / HTTP/1.1\r\nHost: x\r\n\r\n", untrustedAt);
    expect(answer).toMatch(/502 Bad Gateway[\s\S]*certificate/);
  });

  it("is trusted by this sandbox alone", async () => {
    const socket = await dial();
    socket.write(`CONNECT api.test:${at} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    const inner = tls({ socket, servername: "api.test", ca: trusted.cert });
    const [error] = await once(inner, "error");
    expect((error as Error).message).toMatch(/certificate|verify/);
  });

  it("gets one request of a connection at a time", async () => {
    const answers = await through("GET /1 HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100));
    expect(answers.match(/200 OK/g)).toHaveLength(1);
    expect(answers).toContain("503 Service Unavailable");
  });

  it("is not waited for by a client that breaks off before the certificate is there", async () => {
    const held = Promise.withResolvers<void>();
    certificateAfter = held.promise;
    names["late.test"] = ["127.0.0.1"];
    const rules = [{ host: `late.test:${at}`, header: "X-Key" }];
    network.rules = { version: 6, allow: [], secrets: rules };
    const socket = await dial();
    socket.write(`CONNECT late.test:${at} HTTP/1.1\r\n\r\n`);
    await once(socket, "data");
    const inside = arrived.at(-1)!;
    inside.destroy(new Error("read ECONNRESET"));
    await vi.waitFor(() => expect(inside.closed).toBe(true));
    held.resolve();
    await vi.waitFor(() => expect(network.state.use.open).toBe(0));
    expect(network.state.use.recent.at(-1)).toMatchObject({ host: "late.test", outcome: "failed" });
    network.rules = { version: 7, allow: [], secrets: own };
  });

  it("speaks WebSocket with it", async () => {
    const inner = await tunnel(at);
    inner.write(
      "GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n" +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    );
    let seen = "";
    inner.on("data", (data) => {
      seen += data;
    });
    await vi.waitFor(() => expect(seen).toMatch(/^HTTP\/1\.1 101[\s\S]*hello s3cret/), 10_000);
    inner.destroy();
  });

  it("asks for values once in a while, and for those of new rules at once", async () => {
    const before = asked;
    expect(await through("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).toContain("s3cret");
    expect(asked).toBe(before);
    secrets = [{ host: `api.test:${at}`, header: "X-Key", secret: "gone", value: null }];
    network.rules = {
      version: 10,
      allow: [],
      secrets: [{ host: `api.test:${at}`, header: "X-Key", secret: "gone" }],
    };
    const answer = await through("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    expect(answer).toMatch(/502 Bad Gateway[\s\S]*the secret gone for api\.test:\d+ is gone/);
    expect(asked).toBeGreaterThan(before);
  });

  it("is cut off from the code when its secrets change", async () => {
    const inner = await tunnel(at);
    const closed = once(inner, "close");
    network.rules = { version: 11, allow: [`api.test:${at}`] };
    await closed;
  });
});

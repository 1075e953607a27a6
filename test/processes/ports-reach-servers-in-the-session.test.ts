import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import type { ListeningPort, Preview, Process } from "@sandbar/shared";
import { request } from "undici";
import { beforeAll, describe, expect, it } from "vitest";
import WebSocket from "ws";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const SERVER = readFileSync(join(import.meta.dirname, "../fixtures/port-server.py"), "utf8");

describe("ports reach servers in the session", () => {
  const { stack, client } = useStack();
  let session: string;
  let base: string;

  beforeAll(async () => {
    session = (await client.create()).id;
    base = `/v1/sessions/${session}/ports/8000`;
    const { id } = await client.ok<Process>("POST", `/v1/sessions/${session}/processes`, {
      argv: ["python3", "-c", SERVER, "8000"],
    });
    for await (const event of client.events(`/v1/sessions/${session}/processes/${id}/events`))
      if (event.data.text === "listening\n") break;
  });

  const fetchPort = (path: string, options: Parameters<typeof request>[1] = {}) =>
    request(`${stack.url}${base}${path}`, {
      ...options,
      headers: { authorization: `Bearer ${stack.key}`, ...(options.headers as Record<string, string>) },
    });

  interface Seen {
    method: string;
    path: string;
    headers: Record<string, string>;
    body: string;
  }

  it("passes method, path, query, headers and body on, and keeps the caller's credentials", async () => {
    const answer = await fetchPort("/a%20b/c?x=1&y=%2F", {
      method: "POST",
      body: "hello",
      headers: { "content-type": "text/x-test", "x-custom": "yes", cookie: "id=secret" },
    });
    expect(answer.statusCode).toBe(200);
    const seen = (await answer.body.json()) as Seen;
    expect(seen).toMatchObject({ method: "POST", path: "/a%20b/c?x=1&y=%2F", body: "hello" });
    const headers = Object.fromEntries(
      Object.entries(seen.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    expect(headers).toMatchObject({
      host: "localhost:8000",
      "content-type": "text/x-test",
      "content-length": "5",
      "x-custom": "yes",
      "x-forwarded-prefix": base,
    });
    expect(Object.keys(headers)).not.toContain("authorization");
    expect(Object.keys(headers)).not.toContain("cookie");
    expect(JSON.stringify(seen)).not.toContain(stack.key);
  });

  it("lists where something listens, and who does, however it was started", async () => {
    const opened = await client.run(
      session,
      `import socket
everywhere = socket.create_server(("", 4243))
connected = socket.create_connection(("127.0.0.1", 4243))`,
    );
    expect(opened.status).toBe("ok");
    const { data } = await client.ok<{ data: ListeningPort[] }>("GET", `/v1/sessions/${session}/ports`);
    const [server] = (await client.ok<{ data: Process[] }>("GET", `/v1/sessions/${session}/processes`)).data;
    expect(data).toMatchObject([
      { port: 4243, addresses: ["0.0.0.0"], pid: expect.any(Number), process_id: null },
      { port: 8000, addresses: ["127.0.0.1"], pid: server!.pid, process_id: server!.id },
    ]);
    expect(data[1]!.command).toMatch(/^python3 -c /);
    await client.run(session, "everywhere.close(); connected.close()");
  });

  it("keeps what is odd in headers and paths", async () => {
    const answer = await fetchPort("/a//b/%2e%2E/?q=[]{}|", { headers: { "x-odd": "gr\u00c3\u00bcn" } });
    expect(answer.headers["x-echo"]).toBe("gr\u00c3\u00bcn");
    for (const port of ["0", "080", "65536", "http"])
      expect((await client.problem("GET", `/v1/sessions/${session}/ports/${port}/`)).status).toBe(400);
  });

  it.each(["GET", "PUT", "PATCH", "DELETE", "OPTIONS"] as const)("takes %s", async (method) => {
    const answer = await fetchPort("/", { method });
    expect(((await answer.body.json()) as Seen).method).toBe(method);
  });

  it("passes statuses on, also those without a body", async () => {
    expect((await fetchPort("/teapot")).statusCode).toBe(418);
    expect((await fetchPort("/empty")).statusCode).toBe(204);
    const head = await fetchPort("/big", { method: "HEAD" });
    expect([head.statusCode, await head.body.text()]).toEqual([200, ""]);
  });

  it("lets nothing of the sandbox act in the API's name", async () => {
    const answer = await fetchPort("/redirect");
    expect(answer.statusCode).toBe(302);
    expect(answer.headers).toMatchObject({
      location: `${base}/elsewhere?a=b`,
      "content-security-policy": "sandbox allow-scripts allow-forms",
      "x-content-type-options": "nosniff",
    });
    expect(answer.headers["set-cookie"]).toBeUndefined();
    expect(answer.headers["service-worker-allowed"]).toBeUndefined();
  });

  it("streams an answer as it is made", async () => {
    const answer = await fetchPort("/sse");
    let text = "";
    for await (const chunk of answer.body) {
      text += chunk;
      // The server goes on only when what it has sent is here.
      const [number] = /\d(?=\n\n$)/.exec(text) ?? [];
      if (number) await client.run(session, `touch /tmp/read-${number}`, { language: "bash" });
    }
    expect(text).toBe([0, 1, 2, 3, 4].map((number) => `data: ${number}\n\n`).join(""));
  });

  it("moves 10 MB each way, byte for byte", async () => {
    const down = await fetchPort("/big");
    expect(down.headers["content-length"]).toBe("10485760");
    const bytes = Buffer.from(await down.body.arrayBuffer());
    expect(
      bytes.equals(Buffer.alloc(10_485_760, Buffer.from(Array.from({ length: 256 }, (_, i) => i)))),
    ).toBe(true);
    const data = randomBytes(10_000_000);
    const sha256 = createHash("sha256").update(data).digest("hex");
    for (const body of [data, Readable.from([data.subarray(0, 3_000_000), data.subarray(3_000_000)])]) {
      const up = await fetchPort("/digest", { method: "POST", body });
      expect(await up.body.json()).toEqual({ size: data.length, sha256 });
    }
  });

  it.each(["/refuse", "/refuse-and-wait"])(
    "brings the answer of a server that does not read the body to its end: %s",
    async (path) => {
      for (const body of [Buffer.alloc(20_000_000), Readable.from(Array(20).fill(Buffer.alloc(1_000_000)))]) {
        const answer = await fetchPort(path, { method: "POST", body });
        expect([answer.statusCode, await answer.body.text()]).toEqual([413, "too much"]);
      }
    },
  );

  it.each(["/headers", "/broken-length", "/broken-chunk"])(
    "says at once when it cannot pass an answer on: %s",
    async (path) => {
      const answer = await fetchPort(path);
      expect([answer.statusCode, await answer.body.json()]).toEqual([
        502,
        expect.objectContaining({ code: "PORT_CLOSED" }),
      ]);
    },
  );

  it("leaves an encoded answer as the server made it", async () => {
    const answer = await fetchPort("/gzip");
    expect(answer.headers["content-encoding"]).toBe("gzip");
    expect(gunzipSync(Buffer.from(await answer.body.arrayBuffer())).toString()).toBe("squeezed ".repeat(100));
  });

  it("answers 502 with a hint when nothing listens, and when the server hangs up", async () => {
    const closed = await client.problem("GET", `/v1/sessions/${session}/ports/8001/`);
    expect([closed.status, closed.body.code]).toEqual([502, "PORT_CLOSED"]);
    expect(closed.body.detail).toContain("8001");
    expect(closed.body.hint).toContain("127.0.0.1");
    const hungUp = await client.problem("GET", `${base}/hangup`);
    expect([hungUp.status, hungUp.body.code]).toEqual([502, "PORT_CLOSED"]);
    const switched = await client.problem("GET", `${base}/switch`);
    expect([switched.status, switched.body.code]).toEqual([502, "PORT_CLOSED"]);
    await expect(fetchPort("/half").then(({ body }) => body.text())).rejects.toThrow();
    expect((await client.problem("GET", `/v1/sessions/${session}/ports/99999/`)).status).toBe(400);
  });

  it("reads no further than the client does, and lets go of the server when the client hangs up", async () => {
    const abort = new AbortController();
    const answer = await fetchPort("/forever", { signal: abort.signal });
    const streams = async () => (await fetchPort("/streams")).body.text();
    await sleep(500);
    expect(await streams()).toBe("1");
    abort.abort();
    await answer.body.text().catch(() => {});
    await eventually("the server notices", 10_000, async () => (await streams()) === "0");
  });

  it("answers many requests at once", async () => {
    const answers = await Promise.all(
      Array.from(
        { length: 30 },
        async (_, i) => ((await (await fetchPort(`/${i}`)).body.json()) as Seen).path,
      ),
    );
    expect(answers).toEqual(Array.from({ length: 30 }, (_, i) => `/${i}`));
  });

  it("is for callers with a key, in their own sessions", async () => {
    const other = await stack.clientOf("other");
    expect((await other.problem("GET", `${base}/`)).status).toBe(404);
    expect((await stack.client("").problem("POST", `${base}/`, { a: 1 })).status).toBe(401);
  });

  function socketTo(
    path: string,
    protocols: string[] = [],
    headers = { authorization: `Bearer ${stack.key}` },
  ) {
    const socket = new WebSocket(`${stack.url.replace("http", "ws")}${base}${path}`, protocols, { headers });
    const received: [string | Buffer, boolean][] = [];
    socket.on("message", (data: Buffer, binary) => received.push([binary ? data : data.toString(), binary]));
    const opened = new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("error", reject);
    });
    const next = async () => {
      while (received.length === 0) await sleep(5);
      return received.shift()!;
    };
    return { socket, opened, next };
  }

  it("joins WebSockets: text, bytes, large messages, protocols, and the server's close", async () => {
    const { socket, opened, next } = socketTo("/socket?x=1", ["first", "second"]);
    await opened;
    expect(socket.protocol).toBe("second");
    socket.send("grün");
    expect(await next()).toEqual(["grün", false]);
    socket.send(Buffer.from([0, 255, 1]));
    expect(await next()).toEqual([Buffer.from([0, 255, 1]), true]);
    const large = randomBytes(1_000_000);
    socket.send(large);
    expect(large.equals((await next())[0] as Buffer)).toBe(true);
    socket.send("leave");
    const [code, reason] = await new Promise<[number, Buffer]>((resolve) =>
      socket.once("close", (code, reason) => resolve([code, reason])),
    );
    expect([code, reason.toString()]).toEqual([4321, "as asked"]);
  });

  it("takes the key as a protocol without showing it to the server", async () => {
    const { socket, opened } = socketTo("/", ["chat", `bearer.${stack.key}`], {} as never);
    await opened;
    expect(socket.protocol).toBe("chat");
    socket.close();
  });

  it("shows the server by a preview's link, HTTP and WebSockets, until who made it has signed out", async () => {
    const origin = { origin: stack.url };
    const signed = await request(`${stack.url}/console/sign-in`, {
      method: "POST",
      headers: { "content-type": "application/json", ...origin },
      body: JSON.stringify({ api_key: stack.key }),
    });
    const cookie = String(signed.headers["set-cookie"]).split(";")[0]!;
    const withCookie = (path: string) =>
      request(`${stack.url}${path}`, { method: "POST", headers: { cookie, ...origin } });
    const { url } = (await (await withCookie(`${base}/preview`)).body.json()) as Preview;
    const seen = await request(`${url}a/b?x=1`, {
      method: "PUT",
      body: "hello",
      headers: { origin: "null" },
    });
    expect(seen.headers["access-control-allow-origin"]).toBe("null");
    expect(seen.headers["content-security-policy"]).toContain("sandbox allow-scripts");
    const { headers, ...rest } = (await seen.body.json()) as Seen;
    expect(rest).toMatchObject({ method: "PUT", path: "/a/b?x=1", body: "hello" });
    expect(headers["X-Forwarded-Prefix"]).toBe(new URL(url).pathname.replace(/\/$/, ""));

    const socket = new WebSocket(`${url.replace("http", "ws")}socket`, [], { origin: "null" });
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    const echo = new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))));
    socket.send("hello");
    expect(await echo).toBe("hello");

    const began = Date.now();
    expect((await withCookie("/console/sign-out")).statusCode).toBe(204);
    expect((await request(url)).statusCode).toBe(401);
    await closed;
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it("passes on a server's refusal to upgrade", async () => {
    const { socket, opened } = socketTo("/refused");
    const refused = new Promise((resolve) =>
      socket.once("unexpected-response", async (_request, response) => {
        let text = "";
        for await (const chunk of response) text += chunk;
        resolve([response.statusCode, text]);
      }),
    );
    opened.catch(() => {});
    expect(await refused).toEqual([403, "no sockets here"]);
  });

  it("a key that is revoked or expires takes with it whatever it has open", async () => {
    const of = `/v1/sessions/${session}`;
    const code = "import time; time.sleep(100)";
    const running = { code, language: "python", timeout_s: 120 };
    const execution = await client.ok<{ id: string }>("POST", `${of}/executions`, running, {
      prefer: "respond-async",
    });
    const command = "while sleep 0.2; do echo tick; done";
    const { id: quiet } = await client.ok<Process>("POST", `${of}/processes`, { command: "sleep 300" });
    const { id: chatty } = await client.ok<Process>("POST", `${of}/processes`, { command });

    /** Everything that stays open, by name, each with its end. */
    async function openAll(key: string): Promise<Record<string, Promise<unknown>>> {
      const headers = { authorization: `Bearer ${key}` };
      const ends: Record<string, Promise<unknown>> = {};
      const streams = [
        `${of}/events`,
        `${of}/executions/${execution.id}/events`,
        `${of}/processes/${quiet}/events`,
        `${of}/processes/${chatty}/events`,
        `${of}/files/watch?path=.`,
        `${base}/forever`,
      ];
      for (const path of streams) {
        const { statusCode, body } = await request(`${stack.url}${path}`, { headers, bodyTimeout: 0 });
        expect([path, statusCode]).toEqual([path, 200]);
        // Slowly: one of them never ends and is as fast as its reader.
        ends[path] = (async () => {
          for await (const _ of body) await sleep(10);
        })().catch(() => {});
      }
      // Waits for its turn behind code that does not end.
      const body = JSON.stringify({ code: "1", timeout_s: 120 });
      const asked = { ...headers, "content-type": "application/json" };
      ends["a request that waits"] = request(`${stack.url}${of}/executions`, {
        method: "POST",
        headers: asked,
        body,
        headersTimeout: 0,
      })
        .then(({ statusCode, body }) => body.dump().then(() => statusCode))
        .catch(() => 0);
      for (const path of [`${of}/terminal`, `${base}/socket`]) {
        const socket = new WebSocket(`${stack.url.replace("http", "ws")}${path}`, { headers });
        await new Promise((resolve, reject) => {
          socket.once("open", resolve);
          socket.once("error", reject);
        });
        ends[path] = new Promise((resolve) => socket.once("close", resolve));
      }
      return ends;
    }
    /** Names of what has ended. */
    const watch = (ends: Record<string, Promise<unknown>>) => {
      const ended = new Map<string, unknown>();
      for (const [name, end] of Object.entries(ends)) void end.then((how) => ended.set(name, how));
      return ended;
    };

    const spec = { name: "leaving", scopes: ["agent"] };
    const kept = watch(await openAll(stack.key));
    const revoked = await client.ok<{ id: string; secret: string }>("POST", "/v1/keys", spec);
    const opened = await openAll(revoked.secret);
    const gone = watch(opened);
    const verbs = ["run", "files", "terminal", "ports", "read"];
    const token = await client.ok<{ id: string; token: string }>("POST", `${of}/tokens`, { verbs });
    const taken = await openAll(token.token).then(watch);
    const expires_at = new Date(Date.now() + 6000).toISOString();
    const { secret } = await client.ok<{ secret: string }>("POST", "/v1/keys", { ...spec, expires_at });
    const expired = await openAll(secret).then(watch);
    expect([...gone.keys(), ...taken.keys()]).toEqual([]);
    await client.call("DELETE", `/v1/keys/${revoked.id}`);
    await client.call("DELETE", `${of}/tokens/${token.id}`);
    const all = Object.keys(opened).sort();
    await eventually("what it had open is closed", 20_000, () => {
      if ([gone, taken, expired].every(({ size }) => size === all.length)) return true;
      const open = (ended: Map<string, unknown>) => all.filter((name) => !ended.has(name));
      throw new Error(`still open: ${[gone, taken, expired].map(open).join(" and ")}`);
    });
    for (const ended of [gone, taken, expired]) {
      expect([ended.get(`${of}/terminal`), ended.get(`${base}/socket`)]).toEqual([1008, 1008]);
      expect(ended.get("a request that waits")).toBe(401);
    }
    expect([...kept.keys()]).toEqual([]);
    for (const id of [quiet, chatty]) await client.call("DELETE", `${of}/processes/${id}`);
    await client.call("POST", `${of}/executions/${execution.id}/interrupt`);
  });

  it("is open again after the daemon was killed", async () => {
    await stack.killAgent("SIGKILL");
    await stack.startAgent();
    let status = 0;
    for (let i = 0; i < 100 && status !== 200; i++) {
      status = (await client.call("GET", `${base}/`)).status;
      if (status !== 200) await sleep(50);
    }
    expect(status).toBe(200);
  });
});

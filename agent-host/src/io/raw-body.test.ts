import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import net, { type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pump, withRawBodies } from "./raw-body.ts";

const CONTENT = randomBytes(20_000_000);
const folder = mkdtempSync(join(tmpdir(), "sandbar-raw-body-"));
let answer: (response: http.ServerResponse) => void;
let onTaker: (socket: net.Socket) => void;

const taker = net.createServer({ allowHalfOpen: true }, (socket) => onTaker(socket));
beforeAll(() => new Promise<void>((resolve) => taker.listen(join(folder, "taker.sock"), resolve)));
afterAll(() => {
  taker.close();
  rmSync(folder, { recursive: true });
});

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

/** Of this run only: no key lies in the repository. */
function certificate(): { key: Buffer; cert: Buffer } {
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const how = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=localhost";
  const name = "subjectAltName=IP:127.0.0.1";
  execFileSync("openssl", [...how.split(" "), "-addext", name, "-keyout", key, "-out", cert], {
    stdio: "pipe",
  });
  return { key: readFileSync(key), cert: readFileSync(cert) };
}

function sink(): net.Socket {
  return net.connect({ path: join(folder, "taker.sock"), allowHalfOpen: true }).resume();
}

/** What the next connection to the taker brings, when it has been ended. */
function arriving(look: (socket: net.Socket) => void = () => {}): Promise<string> {
  return new Promise((resolve) => {
    onTaker = (socket) => {
      const hash = createHash("sha256");
      socket.on("data", (chunk) => {
        hash.update(chunk);
        look(socket);
      });
      socket.on("end", () => resolve(hash.digest("hex")));
    };
  });
}

describe.each(["http", "https"] as const)("over %s", (protocol) => {
  let agent: http.Agent;
  let source: http.Server;

  beforeAll(async () => {
    const listener = (_: http.IncomingMessage, response: http.ServerResponse) => answer(response);
    if (protocol === "https") {
      const { key, cert } = certificate();
      source = https.createServer({ key, cert }, listener);
      agent = withRawBodies(new https.Agent({ keepAlive: true, ca: cert }));
    } else {
      source = http.createServer(listener);
      agent = withRawBodies(new http.Agent({ keepAlive: true }));
    }
    await new Promise<void>((resolve) => source.listen(0, "127.0.0.1", resolve));
  });

  afterAll(() => {
    agent.destroy();
    source.close();
  });

  async function get(): Promise<http.IncomingMessage> {
    const { port } = source.address() as AddressInfo;
    const { get } = protocol === "https" ? https : http;
    return new Promise((resolve, reject) => {
      get({ host: "127.0.0.1", port, agent }, resolve).on("error", reject);
    });
  }

  test("a large body arrives whole, again and again", async () => {
    answer = (response) => response.setHeader("content-length", CONTENT.length).end(CONTENT);
    for (let round = 0; round < 3; round++) {
      const arrived = arriving();
      await pump(await get(), sink());
      expect(await arrived).toBe(sha256(CONTENT));
    }
  });

  test("so does one whose connection closes behind it", async () => {
    answer = (response) => {
      response.writeHead(200, { "content-length": CONTENT.length, connection: "close" });
      response.end(CONTENT, () => response.socket?.end());
    };
    const arrived = arriving();
    await pump(await get(), sink());
    expect(await arrived).toBe(sha256(CONTENT));
  });

  test("so does one of unknown length, and a small one", async () => {
    for (const [content, headers] of [
      [CONTENT, {}],
      [CONTENT.subarray(0, 1000), { "content-length": 1000 }],
    ] as const) {
      const arrived = arriving();
      answer = (response) => response.writeHead(200, headers).end(content);
      await pump(await get(), sink());
      expect(await arrived).toBe(sha256(content));
    }
  });

  test("a body that waited for its reader is whole", async () => {
    const sent = Promise.withResolvers<void>();
    answer = (response) => {
      response.writeHead(200, { "content-length": CONTENT.length }).write(CONTENT.subarray(0, 400_000));
      sent.resolve();
      response.end(CONTENT.subarray(400_000));
    };
    const response = await get();
    await sent.promise;
    await new Promise<void>((resolve) => response.once("readable", resolve));
    const arrived = arriving();
    await pump(response, sink());
    expect(await arrived).toBe(sha256(CONTENT));
  });

  test("a slow sink holds the source back, in a few buffers", async () => {
    answer = (response) => response.setHeader("content-length", CONTENT.length).end(CONTENT);
    const into = sink();
    let most = 0;
    const arrived = arriving((socket) => {
      most = Math.max(most, into.writableLength);
      socket.pause();
      setImmediate(() => socket.resume());
    });
    await pump(await get(), into);
    expect(await arrived).toBe(sha256(CONTENT));
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(2_000_000);
  });

  test("a cut source closes the sink without ending it", async () => {
    answer = (response) => {
      response.writeHead(200, { "content-length": CONTENT.length });
      response.write(CONTENT.subarray(0, 5_000_000), () => response.socket?.destroy());
    };
    const closed = new Promise<boolean>((resolve) => {
      onTaker = (socket) => {
        socket.resume().on("error", () => {});
        socket.on("end", () => socket.end());
        socket.on("close", () => resolve(true));
      };
    });
    const into = sink();
    await expect(pump(await get(), into)).rejects.toThrow();
    expect(into.writableFinished).toBe(false);
    expect(await closed).toBe(true);
  });

  test("a sink that goes away lets the source go", async () => {
    const gone = Promise.withResolvers<void>();
    answer = (response) => {
      response.on("close", () => gone.resolve());
      response.writeHead(200, { "content-length": CONTENT.length }).end(CONTENT);
    };
    onTaker = (socket) => socket.once("data", () => socket.destroy());
    await expect(pump(await get(), sink())).rejects.toThrow();
    await gone.promise;
  });
});

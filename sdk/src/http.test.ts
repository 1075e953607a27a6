import { afterEach, describe, expect, it } from "vitest";
import { Sandbar } from "./client.ts";
import { fakeServer, hangUp, json } from "./fake-server.test-support.ts";

let close: (() => Promise<void>) | undefined;
afterEach(() => close?.());

async function start(...handlers: Parameters<typeof fakeServer>[0]) {
  const server = await fakeServer(handlers);
  close = server.close;
  return server;
}

const unreachable = json(503, {
  code: "HOST_UNREACHABLE",
  title: "t",
  detail: "d",
  retryable: true,
  request_id: "r",
});
const session = { id: "ses_1", key: "k", limits: {} };

describe("a request", () => {
  it("that is safe is repeated after a hang-up, a gateway's error and half an answer", async () => {
    const half: Parameters<typeof fakeServer>[0][number] = (_, response) => {
      response.writeHead(200, { "content-length": "100" });
      response.write("{");
      setTimeout(() => response.destroy(), 10);
    };
    const { client, received } = await start(hangUp, unreachable, half, json(200, session));
    expect((await client.getSession("ses_1")).id).toBe("ses_1");
    expect(received).toHaveLength(4);
  });

  it("for bytes is repeated when they are cut off", async () => {
    const half: Parameters<typeof fakeServer>[0][number] = (_, response) => {
      response.writeHead(200, { "content-length": "8" });
      response.write("half");
      setTimeout(() => response.destroy(), 10);
    };
    const whole: typeof half = (_, response) => void response.end("halfmore");
    const { client } = await start(json(200, session), half, whole);
    expect(await (await client.getSession("ses_1")).files.readText("note")).toBe("halfmore");
  });

  it("for a piece of a file names the bytes, and a name that is not UTF-8 in base64", async () => {
    const { client, received } = await start(json(200, session), (_, response) => void response.end("ab"));
    const { files } = await client.getSession("ses_1");
    await files.read({ b64: "/w==" }, { start: 2, end: 4 });
    expect(received[1]).toMatchObject({
      path: "/v1/sessions/ses_1/files?path_b64=%2Fw%3D%3D",
      headers: { range: "bytes=2-3" },
    });
  });

  it("that sends a file tells how much has left, anew when it is repeated", async () => {
    const written = { size: 5, sha256: "" };
    const { client, received } = await start(json(200, session), unreachable, json(201, written));
    const told: number[] = [];
    const { files } = await client.getSession("ses_1");
    await files.write("note", "hello", { onProgress: (bytes) => told.push(bytes) });
    expect(told).toEqual([5, 5]);
    expect(received[2]!.body).toBe("hello");
  });

  it("stays on its path, whatever the id", async () => {
    const { client, received } = await start(json(404, { code: "NOT_FOUND", title: "t", retryable: false }));
    await expect(client.artifacts.get("../keys")).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(client.hosts.get("a/../../keys?x")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(received.map(({ path }) => path)).toEqual([
      "/v1/artifacts/..%2Fkeys",
      "/v1/hosts/a%2F..%2F..%2Fkeys%3Fx",
    ]);
  });

  it("that makes a session is repeated with a key of its own, so it makes one", async () => {
    const { client, received } = await start(hangUp, json(201, session));
    await client.session({ runtime: "python" });
    const keys = received.map(({ body }) => JSON.parse(body).key);
    expect(keys[0]).toMatch(/^sdk-/);
    expect(new Set(keys).size).toBe(1);
  });

  it("that would make two of something is sent once", async () => {
    const { client, received } = await start(unreachable);
    await expect(client.keys.create({ name: "x", scopes: ["agent"] })).rejects.toMatchObject({ status: 503 });
    expect(received).toHaveLength(1);
  });

  it("gives up after a few tries", async () => {
    const { client, received } = await start(unreachable);
    await expect(client.getSession("ses_1")).rejects.toMatchObject({ code: "HOST_UNREACHABLE" });
    expect(received).toHaveLength(4);
  });

  it("answered by something that is not Sandbar says so", async () => {
    const { client } = await start((_, response) => void response.end("<html>welcome</html>"));
    await expect(client.getSession("ses_1")).rejects.toMatchObject({
      code: "UNEXPECTED_ANSWER",
      message: expect.stringContaining("<html>"),
    });
  });

  it("pages through lists", async () => {
    const { client, received } = await start(
      json(200, { data: [{ id: "a" }], next_cursor: "c1" }),
      json(200, { data: [{ id: "b" }], next_cursor: null }),
    );
    expect((await client.sessions({ status: "ready" }).all()).map(({ id }) => id)).toEqual(["a", "b"]);
    expect(received.map(({ path }) => path)).toEqual([
      "/v1/sessions?status=ready",
      "/v1/sessions?status=ready&cursor=c1",
    ]);
  });
});

it("a client is not made on what is no URL", () => {
  for (const url of ["", "nonsense", "127.0.0.1:8787", "ftp://127.0.0.1"])
    expect(() => new Sandbar({ url, apiKey: "" }), url).toThrow(
      expect.objectContaining({ code: "INVALID_URL", hint: expect.stringContaining("SANDBAR_URL") }),
    );
});

it("a client is not made with what can be no key, and does not repeat it; line ends around a key are no part of it", () => {
  for (const apiKey of ["a\nsecret", "sécret", "two secrets"]) {
    const make = () => new Sandbar({ url: "http://127.0.0.1", apiKey });
    expect(make).toThrow(
      expect.objectContaining({ code: "INVALID_KEY", hint: expect.stringContaining("SANDBAR_API_KEY") }),
    );
    expect(make).not.toThrow(/s[eé]cret/);
  }
  expect(new Sandbar({ url: "http://127.0.0.1", apiKey: "sbk_1\r\n" }).http.apiKey).toBe("sbk_1");
  // JavaScript that passes on a variable that is not set: the server says what is missing.
  const apiKey = undefined as unknown as string;
  expect(new Sandbar({ url: "http://127.0.0.1", apiKey }).http.authorization).toEqual({});
});

it("a dataset that was not fetched does not become an empty one", async () => {
  const { client, received } = await start(json(200, session));
  const { datasets } = await client.getSession("ses_1");
  await expect(datasets.select("prices", () => undefined as never)).rejects.toThrow(
    /no bytes for dataset "prices"/,
  );
  await datasets.select("prices", () => "a,b");
  expect(received.map(({ method, body }) => [method, body])).toEqual([
    ["GET", ""],
    ["PUT", "a,b"],
  ]);
});

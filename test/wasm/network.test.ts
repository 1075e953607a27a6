import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { privateIndex } from "../fixtures/package-index.ts";
import { useStack } from "../fixtures/use-stack.ts";

const ALLOWED = ["127.0.0.1", await privateIndex()].filter(Boolean).join();

describe("a session in WebAssembly with network", () => {
  let server: Server;
  let url: string;
  let waiting = 0;
  const { client } = useStack({
    agentEnv: { SANDBAR_ENGINE: "wasm", SANDBAR_POOL_SIZE: "0", SANDBAR_EGRESS_ALLOW: ALLOWED },
  });
  let session: string;

  beforeAll(async () => {
    server = createServer((request, response) => {
      const to = (location: string) => response.writeHead(302, { location }).end();
      if (request.url === "/moved") to("/json");
      else if (request.url === "/inward") to("http://10.1.2.3/");
      else if (request.url === "/metadata") to("http://169.254.169.254/latest");
      else if (request.url === "/json") response.end('{"a": 1}');
      else if (request.url === "/zipped")
        response.setHeader("content-encoding", "gzip").end(gzipSync("x".repeat(100_000)));
      else if (request.url === "/missing") response.writeHead(404).end("no");
      else if (request.url === "/silent") {
        waiting++;
        request.socket.once("close", () => waiting--);
      } else request.pipe(response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    session = (await client.create({ engine: "wasm", network: "egress", dependencies: { requests: "" } })).id;
  }, 180_000);
  afterAll(() => void server?.close());

  const run = (code: string, more: Record<string, unknown> = {}) =>
    client.run(session, code.replaceAll("URL", url), more);

  it("makes requests as browsers do, and as Python's libraries do", async () => {
    const code = `
import json, requests, urllib.request, urllib.error
from pyodide.http import pyfetch
answer = await pyfetch("URL/moved")
print(answer.status, answer.url.endswith("/json"), await answer.json())
print(len(await (await pyfetch("URL/zipped")).bytes()))
print(requests.get("URL/json").json(), requests.post("URL/echo", data="mine").text)
print(urllib.request.urlopen("URL/moved").read(), urllib.request.urlopen("URL/echo", data=b"again").read())
try: urllib.request.urlopen("URL/missing")
except urllib.error.HTTPError as failure: print(failure.code, failure.read())`;
    const { stdout, error } = await run(code, { timeout_s: 60 });
    expect({ stdout, error }).toEqual({
      stdout: "200 True {'a': 1}\n100000\n{'a': 1} mine\nb'{\"a\": 1}' b'again'\n404 b'no'\n",
      error: null,
    });
  });

  it("reaches nothing private that the operator has not opened: by address, by name, by a redirect", async () => {
    const code = `
for where in ["http://127.0.0.2/", "http://[::1]/", "http://10.1.2.3/", "http://169.254.169.254/", "URL/inward", "URL/metadata"]:
    try:
        await pyfetch(where)
        print("REACHED", where)
    except OSError as failure:
        print("private address" in str(failure))`;
    expect((await run(code)).stdout).toBe("True\n".repeat(6));
  });

  it("is interrupted while it waits for an answer, and keeps its variables", async () => {
    await run("kept = 1");
    for (const code of ['urllib.request.urlopen("URL/silent")', 'await pyfetch("URL/silent")'])
      expect(await run(code, { timeout_s: 1 })).toMatchObject({
        status: "timeout",
        state: { variables: "kept" },
      });
    expect((await run("print(kept)")).stdout).toBe("1\n");
    await expect.poll(() => waiting).toBe(0);
  });

  it("has none unless it was asked for, and says so", async () => {
    const { id } = await client.create({ engine: "wasm" });
    const { error } = await client.run(id, `import js\nawait js.fetch("${url}/json")`);
    expect(error?.value).toContain('network "egress"');
  });
});

import { request } from "undici";
import { describe, expect, it } from "vitest";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const { stack } = useStack({ vars: { MCP_ALLOWED_ORIGINS: "https://agents.example" } });

const post = (headers: Record<string, string>, body: unknown = { jsonrpc: "2.0", id: 1, method: "ping" }) =>
  request(`${stack.url}/mcp`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${stack.key}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...headers,
    },
    body: JSON.stringify(body),
  });

describe("MCP over HTTP, at its door", () => {
  it("a call without a key, or with a wrong one, learns where the metadata is", async () => {
    for (const authorization of ["", "Bearer nonsense", `Bearer sbk_${"x".repeat(43)}`]) {
      const { statusCode, headers, body } = await post({ authorization });
      expect(statusCode).toBe(401);
      expect(await body.json()).toMatchObject({ code: "UNAUTHENTICATED" });
      const metadata = /resource_metadata="([^"]+)"/.exec(String(headers["www-authenticate"]))?.[1];
      const document = (await (await request(metadata!)).body.json()) as { resource: string };
      expect(document).toMatchObject({ resource: `${stack.url}/mcp`, bearer_methods_supported: ["header"] });
      const atRoot = await request(`${stack.url}/.well-known/oauth-protected-resource`);
      expect(await atRoot.body.json()).toEqual(document);
    }
  });

  it("pages of other sites are refused unless they are listed, also when their name leads here", async () => {
    const status = async (headers: Record<string, string>) => {
      const { statusCode, body } = await post(headers);
      await body.dump();
      return statusCode;
    };
    const refusal = async (headers: Record<string, string>) => {
      const { statusCode, body } = await post(headers);
      return [statusCode, ((await body.json()) as { code: string }).code];
    };
    const wrongOrigin = [403, "ORIGIN_NOT_ALLOWED"];
    const wrongName = [403, "HOST_NAME_NOT_ALLOWED"];
    expect(await status({})).toBe(200);
    expect(await status({ origin: stack.url })).toBe(200);
    expect(await status({ origin: "https://agents.example" })).toBe(200);
    expect(await status({ host: `localhost:${stack.port}` })).toBe(200);
    expect(await refusal({ origin: "https://evil.example" })).toEqual(wrongOrigin);
    expect(await refusal({ origin: "null" })).toEqual(wrongOrigin);
    const rebound = `evil.example:${stack.port}`;
    expect(await refusal({ host: rebound })).toEqual(wrongName);
    expect(await refusal({ host: rebound, origin: `http://${rebound}` })).toEqual(wrongName);
  });

  it("a listed page may ask beforehand", async () => {
    const { statusCode, headers } = await request(`${stack.url}/mcp`, {
      method: "OPTIONS",
      headers: { origin: "https://agents.example", "access-control-request-method": "POST" },
    });
    expect(statusCode).toBe(204);
    expect(headers["access-control-allow-origin"]).toBe("https://agents.example");
    expect(headers["access-control-allow-headers"]).toContain("Authorization");
  });

  it("there is no stream to GET and no session to DELETE", async () => {
    for (const method of ["GET", "DELETE"] as const) {
      const { statusCode, body } = await request(`${stack.url}/mcp`, {
        method,
        headers: { authorization: `Bearer ${stack.key}`, accept: "text/event-stream" },
      });
      expect(statusCode).toBe(405);
      await body.dump();
    }
  });

  it("what is not a message is refused as JSON-RPC", async () => {
    const { statusCode, body } = await post({}, "nonsense");
    expect(statusCode).toBe(400);
    expect(await body.json()).toMatchObject({ jsonrpc: "2.0", error: { code: expect.any(Number) } });
  });

  it("a client that hangs up interrupts its code", async () => {
    const api = stack.client();
    const { id } = await api.ok<{ id: string }>("POST", "/v1/sessions", { key: "hang-up" });
    const { body } = await post(
      {},
      {
        jsonrpc: "2.0",
        id: 7,
        method: "tools/call",
        params: {
          name: "execute_code",
          arguments: { session_id: id, code: "import time; time.sleep(50)", timeout_s: 100 },
        },
      },
    );
    const latest = async () =>
      (await api.ok<{ data: { status: string }[] }>("GET", `/v1/sessions/${id}/executions`)).data[0]?.status;
    await eventually("running", 10_000, async () => (await latest()) === "running");
    body.on("error", () => {});
    body.destroy();
    await eventually("interrupted", 20_000, async () => (await latest()) === "interrupted");
  });

  it("a client cancels its own calls only, though another one counts alike", async () => {
    const api = stack.client();
    const newest = async (name: string) => {
      const { id } = await api.ok<{ id: string }>("POST", "/v1/sessions", { key: name });
      const { data } = await api.ok<{ data: { status: string }[] }>("GET", `/v1/sessions/${id}/executions`);
      return data[0]?.status;
    };
    const begin = async (name: string, seconds: number) => {
      const { id } = await api.ok<{ id: string }>("POST", "/v1/sessions", { key: name });
      const params = {
        name: "execute_code",
        arguments: { session_id: id, code: `import time; time.sleep(${seconds})`, timeout_s: 100 },
      };
      const message = { jsonrpc: "2.0", id: 5, method: "tools/call", params };
      const answer = await post({ "mcp-session-id": name }, message);
      await eventually("running", 10_000, async () => (await newest(name)) === "running");
      return answer.body;
    };
    const bodies = await Promise.all([begin("one", 50), begin("two", 8)]);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 5 } };
    expect((await post({ "mcp-session-id": "one" }, cancelled)).statusCode).toBe(202);
    const [one, two] = await Promise.all(bodies.map((body) => body.text()));
    // What was cancelled gets no answer: its stream just ends.
    expect(one).not.toContain("jsonrpc");
    expect(two).toContain('"status":"ok"');
    await eventually("interrupted", 20_000, async () => (await newest("one")) === "interrupted");
  });

  it("another tenant's session looks like a missing one", async () => {
    const { id } = await stack.client().ok<{ id: string }>("POST", "/v1/sessions", { key: "mine" });
    const { secret } = await stack
      .client()
      .ok<{ secret: string }>("POST", "/v1/keys", { name: "other", tenant: "other", scopes: ["agent"] });
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "execute_code", arguments: { session_id: id, code: "1" } },
    };
    const answer = await (await post({ authorization: `Bearer ${secret}` }, message)).body.text();
    expect(answer).toContain("NOT_FOUND");
  });
});

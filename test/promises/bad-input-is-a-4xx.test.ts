import { connect } from "node:net";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { useStack } from "../fixtures/use-stack.ts";

describe("bad input answers problem+json with a 4xx, never a 500 or a hang", () => {
  const { stack, client } = useStack({ vars: { BODY_IDLE_MS: "2000" } });
  let session: string;

  beforeAll(async () => {
    session = (await client.create()).id;
  });

  async function expect4xx(method: string, path: string, body?: unknown, headers?: Record<string, string>) {
    const answer = await client.problem(method, path, body, headers);
    expect(answer.status, `${method} ${path} ${JSON.stringify(body)?.slice(0, 200)}`).toBeGreaterThanOrEqual(
      400,
    );
    expect(answer.status).toBeLessThan(500);
    expect(answer.headers["content-type"]).toContain("application/problem+json");
    expect(answer.body).toMatchObject({
      status: answer.status,
      code: expect.any(String),
      request_id: expect.any(String),
    });
    return answer.body;
  }

  it.each([
    ["malformed JSON", "{", "INVALID_JSON"],
    ["an array", "[]", "VALIDATION_FAILED"],
    ["null", "null", "VALIDATION_FAILED"],
    ["no code", "{}", "VALIDATION_FAILED"],
    ["a number as code", '{"code":1}', "VALIDATION_FAILED"],
    ["a lone surrogate", '{"code":"\\ud800"}', "VALIDATION_FAILED"],
    ["NUL", '{"code":"a\\u0000b"}', "VALIDATION_FAILED"],
    ["a negative timeout", '{"code":"1","timeout_s":-1}', "VALIDATION_FAILED"],
    ["a huge timeout", '{"code":"1","timeout_s":1e300}', "VALIDATION_FAILED"],
    ["NaN", '{"code":"1","timeout_s":NaN}', "INVALID_JSON"],
    ["an unknown field", '{"code":"1","cod":"1"}', "VALIDATION_FAILED"],
    ["__proto__", '{"code":"1","__proto__":{"polluted":1}}', "VALIDATION_FAILED"],
    ["an unknown language", '{"code":"1","language":"cobol"}', "VALIDATION_FAILED"],
    ["bad UTF-8 in a name", '{"code":"1","env":{"A=B":"1"}}', "VALIDATION_FAILED"],
  ])("%s", async (_, body, code) => {
    expect((await expect4xx("POST", `/v1/sessions/${session}/executions`, body)).code).toBe(code);
  });

  it("datasets of a host that has none are refused for good", async () => {
    const refusal = await expect4xx("POST", "/v1/sessions", { datasets: { access: "LOCAL_RO" } });
    expect(refusal).toMatchObject({ status: 422, code: "DATASETS_UNAVAILABLE", retryable: false });
  });

  it("huge code is refused with 413 or 400", async () => {
    await expect4xx("POST", `/v1/sessions/${session}/executions`, { code: "#".repeat(1_000_001) });
    expect(
      (await expect4xx("POST", `/v1/sessions/${session}/executions`, { code: "#".repeat(9_000_000) })).code,
    ).toBe("PAYLOAD_TOO_LARGE");
  });

  it.each([
    ["GET", "/nowhere"],
    ["GET", "/v1/sessions/ses_x"],
    ["GET", "/v1/sessions/..%2f..%2fetc"],
    ["GET", "/v1/sessions/%00"],
    ["GET", "/v1/sessions/%ff%fe"],
    ["GET", `/v1/sessions/${"a".repeat(4000)}`],
    ["GET", "/v1/sessions/__proto__"],
    ["GET", "/v1/sessions?limit=-1"],
    ["GET", "/v1/sessions?limit=x"],
    ["GET", "/v1/sessions?cursor=%7Bbad"],
    ["GET", "/v1/sessions?status=nope"],
    ["PATCH", "/v1/sessions"],
    ["GET", "/v1/hosts/hst_x"],
    ["DELETE", "/v1/keys/key_x"],
  ])("%s %s", async (method, path) => {
    await expect4xx(method, path);
  });

  it("a body of another media type is refused", async () => {
    const body = await expect4xx("POST", "/v1/sessions", "<a/>", { "content-type": "text/xml" });
    expect(body.code).toBe("UNSUPPORTED_MEDIA_TYPE");
  });

  /** What is answered to a request whose body never comes to its end; the client only waits. */
  function answerTo(method: string, path: string, key: string, body: string, host = "127.0.0.1") {
    const head = [
      `${method} ${path} HTTP/1.1`,
      `Host: ${host}`,
      `Authorization: Bearer ${key}`,
      "Content-Type: application/json",
    ];
    const socket = connect(stack.port, "127.0.0.1");
    return new Promise<{ status: number; code: string | undefined }>((resolve, reject) => {
      let text = "";
      socket.setTimeout(15_000, () => reject(new Error(`no answer to ${method} ${path}`)));
      socket.on("data", (chunk) => {
        text += chunk;
      });
      socket.once("error", reject);
      socket.once("end", () =>
        resolve({ status: Number(text.split(" ")[1]), code: /"code":"(\w+)"/.exec(text)?.[1] }),
      );
      socket.write(`${head.join("\r\n")}\r\n${body}`);
    }).finally(() => socket.destroy());
  }
  const HUGE = "Content-Length: 1000000000\r\n\r\n";
  const SILENT = "Content-Length: 100\r\n\r\n";
  const ENDLESS = 'Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n';

  it("whoever may not do it, or asks for what is not there, hears so though the body does not come", async () => {
    const of = `/v1/sessions/${session}`;
    const stranger = `sbk_${"A".repeat(43)}`;
    const secured = [
      ["POST", "/v1/sessions"],
      ["POST", `${of}/executions`],
      ["POST", `${of}/import`],
      ["PUT", `${of}/files?path=x`],
      ["POST", `${of}/processes/prc_0000000000000000000000000z/stdin`],
      ["POST", `${of}/ports/8000/x`],
      ["PUT", "/v1/sessions"],
      ["POST", "/mcp"],
      ["POST", "/agent/artifacts/check"],
      ["PUT", "/agent/artifacts"],
      ["PUT", `/agent/blobs/${"a".repeat(64)}`],
      ["POST", "/agent/uploads"],
    ] as const;
    const bodies = [HUGE, SILENT, ENDLESS];
    await Promise.all([
      ...secured.flatMap(([method, path]) =>
        bodies.map(async (body) =>
          expect(await answerTo(method, path, stranger, body), `${method} ${path}`).toEqual({
            status: 401,
            code: "UNAUTHENTICATED",
          }),
        ),
      ),
      ...bodies.flatMap((body) => [
        expect(answerTo("POST", "/nowhere", stack.key, body)).resolves.toMatchObject({ status: 404 }),
        expect(answerTo("PUT", "/nowhere", stack.key, body)).resolves.toMatchObject({ status: 404 }),
        expect(answerTo("PATCH", "/v1/sessions", stack.key, body)).resolves.toMatchObject({ status: 405 }),
        expect(answerTo("PUT", `/agent/transfers/grt_${"a".repeat(43)}`, "", body)).resolves.toMatchObject({
          status: 404,
        }),
      ]),
    ]);
  });

  it("a JSON body that is too long by its length is refused at once, one that stalls after a while", async () => {
    const paths = [
      "/v1/sessions",
      `/v1/sessions/${session}/executions`,
      `/v1/sessions/${session}/processes/prc_0000000000000000000000000z/stdin`,
      "/agent/join",
      "/mcp",
    ];
    await Promise.all(
      paths.flatMap((path) => [
        expect(answerTo("POST", path, stack.key, HUGE)).resolves.toEqual({
          status: 413,
          code: "PAYLOAD_TOO_LARGE",
        }),
        ...[SILENT, ENDLESS].map((body) =>
          expect(answerTo("POST", path, stack.key, body)).resolves.toEqual({
            status: 408,
            code: "REQUEST_TIMEOUT",
          }),
        ),
      ]),
    );
  });

  it("a Host that is none is the caller's fault, too", async () => {
    for (const host of ["a b", "x:99999", "[::1"])
      for (const path of ["/mcp", "/v1/artifacts", "/v1/sessions", "/healthz"])
        expect(await answerTo("GET", path, stack.key, "Connection: close\r\n\r\n", host)).toEqual({
          status: 400,
          code: "VALIDATION_FAILED",
        });
  });

  it("a body whose chunks are broken is the caller's fault", async () => {
    const broken = "Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n";
    expect(await answerTo("POST", "/v1/sessions", stack.key, broken)).toEqual({
      status: 400,
      code: "INVALID_JSON",
    });
  });

  it("any JSON at all, on the routes that take a body", async () => {
    const routes = [
      "/v1/sessions",
      `/v1/sessions/${session}/executions`,
      `/v1/sessions/${session}/contexts`,
      "/v1/keys",
      "/agent/join",
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes), fc.jsonValue({ maxDepth: 3 }), async (path, value) => {
        const answer = await client.call("POST", path, JSON.stringify(value));
        if (answer.status === 201 && path === "/v1/sessions")
          await client.stop((answer.body as { id: string }).id);
        else {
          expect(answer.status).toBeGreaterThanOrEqual(400);
          expect(answer.status).toBeLessThan(500);
        }
      }),
      { numRuns: 150 },
    );
  });

  it("near-miss requests: valid shapes with one field of any JSON value", async () => {
    const fields = [
      "key",
      "runtime",
      "storage",
      "datasets",
      "limits",
      "network",
      "env",
      "idle_ttl_s",
      "labels",
      "image",
      "volumes",
    ];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...fields), fc.jsonValue({ maxDepth: 2 }), async (field, value) => {
        // Parsed from text, so that a generated __proto__ stays an ordinary key.
        const answer = await client.call(
          "POST",
          "/v1/sessions",
          `{"runtime":"bash","${field}":${JSON.stringify(value)}}`,
        );
        if (answer.status === 201 || answer.status === 200)
          await client.stop((answer.body as { id: string }).id);
        else expect(answer.status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
  });

  it("the session still works after all that", async () => {
    expect((await client.run(session, "'unharmed'")).text).toBe("'unharmed'");
  });
});

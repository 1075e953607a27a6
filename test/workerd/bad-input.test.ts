import { JSON_BODY_LIMIT_BYTES, type Problem, ProblemSchema } from "@sandbar/shared";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { Client } from "./client.ts";
import { ORIGIN, onlyHost, worker } from "./fake-daemon.ts";

let client: Client;
let session: string;
beforeAll(async () => {
  await onlyHost();
  client = await Client.of("acme", ["admin"]);
  session = (await client.session()).id;
});

async function problemOf(response: Response): Promise<Problem> {
  expect(response.headers.get("Content-Type")).toContain("application/problem+json");
  const problem = ProblemSchema.parse(await response.json());
  expect(problem.request_id).toBe(response.headers.get("X-Request-Id"));
  expect(problem.status).toBe(response.status);
  return problem;
}

const post = (path: string, body: BodyInit, type = "application/json") =>
  client.fetch(path, { method: "POST", body, headers: { "Content-Type": type } });

const executions = () => `/v1/sessions/${session}/executions`;

describe("a body", () => {
  it("that is not JSON is refused", async () => {
    for (const body of ["{", "", "nul", '{"code": "\\ud8"}', new Uint8Array([0x7b, 0xff, 0x7d])]) {
      const problem = await problemOf(await post(executions(), body));
      expect(problem.status).toBe(400);
      expect(["INVALID_JSON", "VALIDATION_FAILED"]).toContain(problem.code);
    }
    expect((await problemOf(await post(executions(), "{"))).code).toBe("INVALID_JSON");
  });

  it("of another media type is refused", async () => {
    expect((await problemOf(await post(executions(), "code=1", "text/plain"))).code).toBe(
      "UNSUPPORTED_MEDIA_TYPE",
    );
  });

  it("that is too large is refused, declared or not", async () => {
    const large = JSON.stringify({ code: "x".repeat(JSON_BODY_LIMIT_BYTES) });
    expect((await problemOf(await post(executions(), large))).code).toBe("PAYLOAD_TOO_LARGE");
    const stream = new Blob([large]).stream();
    expect((await problemOf(await post(executions(), stream))).code).toBe("PAYLOAD_TOO_LARGE");
  });

  it("of a stranger is refused when it is larger than a stranger needs", async () => {
    const join = { token: "x".repeat(100_000), name: "x", public_key: {} };
    expect((await problemOf(await post("/agent/join", JSON.stringify(join)))).code).toBe("PAYLOAD_TOO_LARGE");
  });

  it("whose code is too large for a frame is refused", async () => {
    const problem = await problemOf(await post(executions(), JSON.stringify({ code: "€".repeat(900_000) })));
    expect(problem.code).toBe("PAYLOAD_TOO_LARGE");
  });

  it("with wrong fields is refused with their names", async () => {
    const wrong: Record<string, unknown>[] = [
      {},
      { code: 1 },
      { code: "1", timeout_s: -1 },
      { code: "1", timeout_s: 1e12 },
      { code: "1", language: "cobol" },
      { code: "1", context: "../x" },
      { code: "a\0b" },
      { code: "\ud800" },
      { code: "1", more: true },
      { code: "x".repeat(1_000_001) },
      { code: "1", env: { "A=B": "1" } },
    ];
    for (const json of wrong) {
      const problem = await problemOf(await client.fetch(executions(), { method: "POST", json }));
      expect(problem.code).toBe("VALIDATION_FAILED");
      expect(problem.errors?.length).toBeGreaterThan(0);
    }
  });

  it("with __proto__ pollutes nothing", async () => {
    const sent = await post(
      "/v1/sessions",
      '{"env": {"__proto__": "x"}, "labels": {"a": "b"}, "key": "proto"}',
    );
    expect(sent.status).toBeLessThan(500);
    expect((await post("/v1/sessions", '{"__proto__": {"polluted": true}}')).status).toBeLessThan(500);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it("of any JSON is answered without a 5xx", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.json(),
        fc.constantFrom("/v1/keys", executions(), "/agent/join"),
        async (json, path) => {
          const response = await post(path, json);
          await response.body?.cancel();
          expect(response.status).toBeLessThan(500);
        },
      ),
      { numRuns: 100 },
    );
  });
});

describe("a path", () => {
  it("that does not exist is a 404, a wrong method a 405 that names the right ones", async () => {
    expect((await problemOf(await client.fetch("/v1/nothing"))).code).toBe("NOT_FOUND");
    expect((await problemOf(await client.fetch("/nothing"))).code).toBe("NOT_FOUND");
    const wrong = await client.fetch("/v1/sessions", { method: "PUT", body: "x" });
    expect(wrong.headers.get("Allow")).toBe("POST, GET");
    expect(await problemOf(wrong)).toMatchObject({
      code: "METHOD_NOT_ALLOWED",
      detail: "PUT is not possible here; POST and GET are",
    });
    const only = await client.fetch("/v1/usage", { method: "DELETE" });
    expect((await problemOf(only)).detail).toBe("DELETE is not possible here; GET is");
  });

  it("with any id is answered without a 5xx", async () => {
    const odd = [
      "..%2f",
      "%00",
      "%zz",
      "a".repeat(5000),
      "ses_",
      "ses_%0a",
      "%E2%80%AE",
      "__proto__",
      "%2e%2e",
      "ses_01%27--",
    ];
    for (const id of odd)
      for (const path of [
        `/v1/sessions/${id}`,
        `${executions()}/${id}`,
        `/v1/hosts/${id}`,
        `/v1/sessions/${session}/contexts/${id}`,
      ]) {
        for (const method of ["GET", "DELETE"]) {
          const response = await client.fetch(path, { method });
          await response.body?.cancel();
          expect(response.status, `${method} ${path}`).toBeGreaterThanOrEqual(200);
          expect(response.status, `${method} ${path}`).toBeLessThan(500);
        }
      }
  });

  it("of any segments is answered without a 5xx", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.webSegment(), { maxLength: 5 }), async (segments) => {
        const response = await client.fetch(`/v1/sessions/${segments.join("/")}`);
        await response.body?.cancel();
        expect(response.status).toBeLessThan(500);
      }),
      { numRuns: 100 },
    );
  });
});

describe("headers and queries", () => {
  it("that make no sense are refused", async () => {
    const asks: [Record<string, string>, string, number][] = [
      [{ "Idempotency-Key": "x".repeat(300) }, "VALIDATION_FAILED", 400],
      [{ "Idempotency-Key": "a b" }, "VALIDATION_FAILED", 400],
      [{ Accept: "image/png" }, "NOT_ACCEPTABLE", 406],
    ];
    for (const [headers, code, status] of asks) {
      const problem = await problemOf(
        await client.fetch(executions(), { method: "POST", json: { code: "1" }, headers }),
      );
      expect(problem).toMatchObject({ code, status });
    }
    for (const query of ["limit=0", "limit=x", "limit=1e9", "cursor=..", "status=odd", "label=novalue"])
      expect((await problemOf(await client.fetch(`/v1/sessions?${query}`))).code).toBe("VALIDATION_FAILED");
  });

  it("X-Request-Id is taken when it is well-formed and made when it is not", async () => {
    const given = await client.fetch("/healthz", { headers: { "X-Request-Id": "abc-1" } });
    expect(given.headers.get("X-Request-Id")).toBe("abc-1");
    const odd = await client.fetch("/healthz", { headers: { "X-Request-Id": "a b" } });
    expect(odd.headers.get("X-Request-Id")).toMatch(/^req_/);
  });
});

describe("what needs no key", () => {
  it("is the health check and the documentation", async () => {
    const get = (path: string) => worker.fetch(`${ORIGIN}${path}`);
    expect(await (await get("/healthz")).json()).toEqual({ status: "ok" });
    const openapi = await (await get("/openapi.json")).json<{
      paths: Record<string, unknown>;
      components: { schemas: object };
    }>();
    expect(Object.keys(openapi.paths)).toEqual(
      expect.arrayContaining([
        "/v1/sessions",
        "/v1/sessions/{id}/executions/{eid}/events",
        "/v1/hosts/enrollments",
        "/v1/keys",
      ]),
    );
    expect(Object.keys(openapi.components.schemas)).toEqual(
      expect.arrayContaining(["Session", "Execution", "Problem"]),
    );
    expect(await (await get("/docs")).text()).toContain("/docs/scalar.js");
    expect(await (await get("/docs/errors")).text()).toContain('id="QUEUE_FULL"');
  });
});

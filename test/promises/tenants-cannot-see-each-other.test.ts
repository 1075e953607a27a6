import { beforeAll, describe, expect, it } from "vitest";
import type { Client } from "../fixtures/client.ts";
import { useStack } from "../fixtures/use-stack.ts";

describe("promise 7: another tenant's id looks exactly like a missing one", () => {
  const { stack } = useStack();
  let alice: Client;
  let bob: Client;

  beforeAll(async () => {
    alice = await stack.clientOf("alice");
    bob = await stack.clientOf("bob");
  });

  it("answers both the same, on every route", async () => {
    const { id } = await alice.create({ key: "private" });
    const { id: execution } = await alice.run(id, "secret = 1");
    const missing = id.replace(/.{6}$/, "zzzzzz");
    const routes: [string, (session: string) => string, unknown?][] = [
      ["GET", (s) => `/v1/sessions/${s}`],
      ["POST", (s) => `/v1/sessions/${s}/executions`, { code: "1" }],
      ["GET", (s) => `/v1/sessions/${s}/executions`],
      ["GET", (s) => `/v1/sessions/${s}/executions/${execution}`],
      ["GET", (s) => `/v1/sessions/${s}/executions/${execution}/events`],
      ["POST", (s) => `/v1/sessions/${s}/executions/${execution}/interrupt`],
      ["GET", (s) => `/v1/sessions/${s}/contexts`],
      ["GET", (s) => `/v1/sessions/${s}/state`],
      ["GET", (s) => `/v1/sessions/${s}/metrics`],
      ["GET", (s) => `/v1/sessions/${s}/events`],
      ["DELETE", (s) => `/v1/sessions/${s}`],
    ];
    for (const [method, path, body] of routes) {
      const foreign = await bob.problem(method, path(id), body);
      const absent = await bob.problem(method, path(missing), body);
      const plain = (answer: typeof foreign) =>
        JSON.stringify(answer.body)
          .replaceAll(id, "ID")
          .replaceAll(missing, "ID")
          .replace(answer.body.request_id, "");
      expect([method, path("ID"), foreign.status, plain(foreign)]).toEqual([
        method,
        path("ID"),
        404,
        plain(absent),
      ]);
    }
    expect((await alice.run(id, "secret")).text).toBe("1");
    for (const list of ["/v1/sessions", "/v1/metrics/sessions"])
      expect((await bob.ok<{ data: unknown[] }>("GET", list)).data).toEqual([]);
  });

  it("gives the same key of two tenants two sessions", async () => {
    const [a, b] = await Promise.all([alice.create({ key: "same" }), bob.create({ key: "same" })]);
    expect(a.id).not.toBe(b.id);
  });

  it("keeps operators' routes from agents' keys, and everything from no key", async () => {
    for (const [method, path] of [
      ["GET", "/v1/hosts"],
      ["POST", "/v1/hosts/enrollments"],
      ["GET", "/v1/keys"],
      ["GET", "/metrics"],
    ] as const)
      expect((await alice.problem(method, path)).body.code).toBe("FORBIDDEN");
    for (const key of ["", "sbk_wrong", `sbk_${"A".repeat(43)}`]) {
      const { status, body } = await stack.client(key).problem("GET", "/v1/sessions");
      expect([status, body.code]).toEqual([401, "UNAUTHENTICATED"]);
    }
  });

  it("gives one session to 50 parallel creates of one key", async () => {
    const sessions = await Promise.all(Array.from({ length: 50 }, () => alice.create({ key: "crowd" })));
    expect(new Set(sessions.map((session) => session.id)).size).toBe(1);
    const conflict = await alice.problem("POST", "/v1/sessions", { key: "crowd", network: "egress" });
    expect([conflict.status, conflict.body.code]).toEqual([409, "SESSION_KEY_CONFLICT"]);
  });
});

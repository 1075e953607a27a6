import type { AuditEntry, Problem } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { forgetKeys } from "../../worker/src/auth.ts";
import { Client } from "./client.ts";
import { ORIGIN, onlyHost, until, worker } from "./fake-daemon.ts";

let operator: Client;
beforeEach(async () => {
  await onlyHost();
  operator = await Client.of("ops", ["operator"]);
});

const wrong = (address: string, letter = "W") =>
  worker.fetch(`${ORIGIN}/v1/me`, {
    headers: { Authorization: `Bearer sbk_${letter.repeat(43)}`, "CF-Connecting-IP": address },
  });
const right = (client: Client, address: string) =>
  client.call<Problem>("GET", "/v1/me", undefined, { "CF-Connecting-IP": address });

describe("wrong keys", () => {
  it("cost the address that shows them, and nobody else", async () => {
    const answers = await Promise.all(Array.from({ length: 60 }, () => wrong("198.51.100.1")));
    expect(answers.every(({ status }) => status === 401)).toBe(true);
    const refused = await wrong("198.51.100.1");
    expect(refused.status).toBe(429);
    expect(Number(refused.headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);
    expect(await refused.json<Problem>()).toMatchObject({ code: "RATE_LIMITED", retryable: true });
    expect((await wrong("198.51.100.2")).status).toBe(401);
    const cold = await Client.of("cold");
    expect((await right(cold, "198.51.100.1")).status).toBe(429);
    expect((await right(cold, "198.51.100.2")).status).toBe(200);
    await expect
      .poll(
        async () => {
          const { body } = await operator.call<{ data: AuditEntry[] }>(
            "GET",
            "/v1/audit?address=198.51.100.1&result=RATE_LIMITED",
          );
          return body.data.length;
        },
        { timeout: 10_000 },
      )
      .toBeGreaterThan(0);
  });

  it("do not shut out a key that was good before, from the same address", async () => {
    const good = await Client.of("good");
    expect((await right(good, "198.51.100.9")).status).toBe(200);
    await Promise.all(Array.from({ length: 60 }, () => wrong("198.51.100.9", "V")));
    expect((await wrong("198.51.100.9", "V")).status).toBe(429);
    expect((await right(good, "198.51.100.9")).status).toBe(200);
    forgetKeys();
  });

  it("and wrong tokens of joining hosts are counted together", async () => {
    const join = () =>
      worker.fetch(`${ORIGIN}/agent/join`, {
        method: "POST",
        headers: { "Content-Type": "application/json", "CF-Connecting-IP": "2001:db8::1" },
        body: JSON.stringify({
          token: `sbe_${"x".repeat(43)}`,
          name: "x",
          public_key: { kty: "OKP", crv: "Ed25519", x: "A".repeat(43) },
        }),
      });
    for (let i = 0; i < 30; i++) await wrong(`2001:db8::${i.toString(16)}`, "U");
    for (let i = 0; i < 30; i++) expect((await join()).status).toBe(401);
    expect((await join()).status).toBe(429);
    expect((await wrong("2001:db8::ffff", "U")).status).toBe(429);
    expect((await wrong("2001:db8:0:1::1", "U")).status).toBe(401);
  });
});

describe("requests", () => {
  it("of a tenant are bounded by its policy, of all its keys together, and others go on", async () => {
    const [one, two] = [await Client.of("busy"), await Client.of("busy")];
    const other = await Client.of("calm");
    await operator.call("PUT", "/v1/policies/busy", { shares: { requests_per_minute: 20 } });
    await until(async () =>
      (await one.call("GET", "/v1/me")).headers.get("RateLimit")?.includes('"tenant";r=1'),
    );
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => (i % 2 ? one : two).call<Problem>("GET", "/v1/me")),
    );
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(10);
    expect(refused[0]!.body).toMatchObject({
      code: "RATE_LIMITED",
      detail: expect.stringContaining("requests_per_minute"),
    });
    expect(refused[0]!.headers.get("RateLimit-Policy")).toBe('"tenant";q=20;w=60');
    expect(Number(refused[0]!.headers.get("Retry-After"))).toBeGreaterThanOrEqual(1);
    expect((await other.call("GET", "/v1/me")).status).toBe(200);
  });

  it("to run code are bounded by executions per minute, also those that would wait", async () => {
    const runs = await Client.of("runs");
    const session = await runs.session();
    await operator.call("PUT", "/v1/policies/runs", { shares: { executions_per_minute: 5 } });
    await runs.execute(session.id, "first: the policy is read meanwhile");
    await expect
      .poll(async () => (await runs.call("GET", "/v1/usage")).body)
      .toMatchObject({ limits: { executions_per_minute: 5 } });
    const answers = await Promise.all(Array.from({ length: 12 }, () => runs.execute(session.id, "1")));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(7);
    expect(refused[0]!.body).toMatchObject({
      code: "RATE_LIMITED",
      detail: expect.stringContaining("executions_per_minute"),
    });
    expect((await runs.call("GET", `/v1/sessions/${session.id}`)).status).toBe(200);
  });
});

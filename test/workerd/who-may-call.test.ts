import { runInDurableObject } from "cloudflare:test";
import type { ApiKey, Problem, Session } from "@sandbar/shared";
import { beforeEach, describe, expect, it } from "vitest";
import { forgetKeys } from "../../worker/src/auth.ts";
import { createKey, deleteKey } from "../../worker/src/db/keys.ts";
import { bindings, Client } from "./client.ts";
import { ORIGIN, onlyHost, worker } from "./fake-daemon.ts";

beforeEach(async () => {
  await onlyHost();
});

const PAST = "2020-01-01T00:00:00Z";
const withoutRequestId = ({ request_id: _, ...rest }: Problem) => rest;

describe("a key's last use", () => {
  const lastUse = async (id: string) =>
    (await bindings.DB.prepare("SELECT last_used_at FROM api_keys WHERE id = ?")
      .bind(id)
      .first<string>("last_used_at"))!;

  it("is noted when it is first used, and then once in several minutes", async () => {
    const { id, secret } = await createKey(bindings.DB, { name: "used", tenant: "used", scopes: ["agent"] });
    expect(await lastUse(id)).toBe(null);
    const call = () => new Client(secret).call("GET", "/v1/me");
    await call();
    await expect.poll(() => lastUse(id)).not.toBe(null);
    const noted = await lastUse(id);
    forgetKeys();
    await call();
    expect(await lastUse(id)).toBe(noted);
    await bindings.DB.prepare("UPDATE api_keys SET last_used_at = ? WHERE id = ?").bind(PAST, id).run();
    forgetKeys();
    await call();
    await expect.poll(() => lastUse(id)).not.toBe(PAST);
  });
});

describe("tenants", () => {
  it("see each other's sessions exactly as missing ones, whatever they ask", async () => {
    const alice = await Client.of("alice");
    const bob = await Client.of("bob");
    const { id } = await alice.session();
    const { body: execution } = await alice.execute(id, "secret");
    const missing = "ses_0000000000000000000000000z";
    const asks: [string, string, unknown?][] = [
      ["GET", ""],
      ["DELETE", ""],
      ["GET", "/events"],
      ["GET", "/executions"],
      ["POST", "/executions", { code: "1" }],
      ["GET", `/executions/${execution.id}`],
      ["GET", `/executions/${execution.id}/events`],
      ["POST", `/executions/${execution.id}/interrupt`],
      ["GET", "/contexts"],
      ["POST", "/contexts", { name: "x", language: "python" }],
      ["DELETE", "/contexts/python"],
      ["POST", "/contexts/python/restart"],
      ["GET", "/state"],
    ];
    for (const [method, path, json] of asks) {
      const foreign = await bob.call<Problem>(method, `/v1/sessions/${id}${path}`, json);
      const none = await bob.call<Problem>(method, `/v1/sessions/${missing}${path}`, json);
      expect(foreign.status, `${method} ${path}`).toBe(404);
      expect(withoutRequestId(foreign.body)).toEqual(withoutRequestId(none.body));
    }
    expect((await bob.call<{ data: Session[] }>("GET", "/v1/sessions")).body.data).toEqual([]);
    expect((await alice.call<Session>("GET", `/v1/sessions/${id}`)).body.status).toBe("ready");
  });

  it("have keys of their own", async () => {
    const alice = await Client.of("alice2");
    const bob = await Client.of("bob2");
    const [a, b] = [await alice.session({ key: "same" }), await bob.session({ key: "same" })];
    expect(a.id).not.toBe(b.id);
  });

  it("leave nothing behind in an object that was only asked", async () => {
    const bob = await Client.of("bob3");
    const missing = "ses_0000000000000000000000000y";
    await bob.call("GET", `/v1/sessions/${missing}`);
    await bob.call("DELETE", `/v1/sessions/${missing}`);
    const stub = bindings.SESSIONS.getByName(`bob3/${missing}`);
    const tables = await runInDurableObject(stub, (_, ctx) =>
      ctx.storage.sql.exec("SELECT name FROM sqlite_master").toArray(),
    );
    expect(tables).toEqual([]);
  });
});

describe("API keys", () => {
  it("are needed, and must be whole", async () => {
    for (const header of [
      undefined,
      "",
      "Bearer",
      "Bearer sbk_short",
      "Basic abc",
      `Bearer sbk_${"A".repeat(43)}`,
    ]) {
      const raw = await worker.fetch(`${ORIGIN}/v1/sessions`, {
        headers: header === undefined ? {} : { Authorization: header },
      });
      expect(raw.status).toBe(401);
      expect(raw.headers.get("WWW-Authenticate")).toBe("Bearer");
      expect((await raw.json<Problem>()).code).toBe("UNAUTHENTICATED");
    }
  });

  it("are made by an admin, shown once, listed without secrets, and revoked", async () => {
    const admin = await Client.of("root", ["admin"]);
    const made = await admin.call<ApiKey & { secret: string }>("POST", "/v1/keys", {
      name: "ci",
      scopes: ["agent"],
    });
    expect(made.status).toBe(201);
    expect(made.body.secret).toMatch(/^sbk_[A-Za-z0-9_-]{43}$/);
    expect(made.body.tenant).toBe("default");
    const client = new Client(made.body.secret);
    expect((await client.call("GET", "/v1/sessions")).status).toBe(200);
    const list = await admin.call<{ data: ApiKey[] }>("GET", "/v1/keys");
    expect(list.body.data.find(({ id }) => id === made.body.id)).toBeTruthy();
    expect(JSON.stringify(list.body)).not.toContain(made.body.secret);
    expect((await admin.call("DELETE", `/v1/keys/${made.body.id}`)).status).toBe(204);
    expect((await client.call("GET", "/v1/sessions")).status).toBe(401);
    expect((await admin.call("DELETE", `/v1/keys/${made.body.id}`)).status).toBe(404);
  });

  it("that were revoked elsewhere work only as long as they are cached", async () => {
    const admin = await Client.of("root", ["admin"]);
    const { body } = await admin.call<ApiKey & { secret: string }>("POST", "/v1/keys", {
      name: "x",
      scopes: ["agent"],
    });
    const client = new Client(body.secret);
    expect((await client.call("GET", "/v1/sessions")).status).toBe(200);
    await deleteKey(bindings.DB, body.id);
    expect((await client.call("GET", "/v1/sessions")).status).toBe(200);
    forgetKeys();
    expect((await client.call("GET", "/v1/sessions")).status).toBe(401);
  });

  it("that have expired are refused", async () => {
    const { secret } = await createKey(bindings.DB, { name: "old", scopes: ["agent"], expires_at: PAST });
    expect((await new Client(secret).call<Problem>("GET", "/v1/sessions")).body.detail).toContain("expired");
  });

  it("are not made with an expiry that has passed", async () => {
    const admin = await Client.of("root", ["admin"]);
    const wanted = { name: "old", scopes: ["agent"], expires_at: PAST };
    const { status, body } = await admin.call<Problem>("POST", "/v1/keys", wanted);
    expect(status).toBe(400);
    expect(body).toMatchObject({
      code: "VALIDATION_FAILED",
      errors: [{ path: "expires_at", message: expect.stringContaining("future") }],
    });
    const later = new Date(Date.now() + 60_000).toISOString();
    expect((await admin.call("POST", "/v1/keys", { ...wanted, expires_at: later })).status).toBe(201);
  });

  it("have scopes: an agent runs code, an operator looks after hosts, an admin may do both", async () => {
    const [agent, operator, admin] = [
      await Client.of("t"),
      await Client.of("t", ["operator"]),
      await Client.of("t", ["admin"]),
    ];
    const statuses = async (path: string) =>
      Promise.all([agent, operator, admin].map(async (client) => (await client.fetch(path)).status));
    for (const path of ["/v1/sessions", "/v1/artifacts", "/v1/volumes"])
      expect(await statuses(path), path).toEqual([200, 403, 200]);
    const { id } = await agent.session();
    for (const path of ["", "/files/list", "/executions", "/events"])
      expect((await operator.fetch(`/v1/sessions/${id}${path}`)).status, path).toBe(403);
    expect((await operator.execute(id, "1")).body.code).toBe("FORBIDDEN");
    expect((await operator.call("POST", "/v1/sessions", {})).status).toBe(403);
    expect((await operator.call("POST", "/mcp", {})).status).toBe(403);
    const both = await Client.of("t", ["agent", "operator"]);
    expect((await both.fetch("/v1/sessions")).status).toBe(200);
    expect((await both.fetch("/v1/hosts")).status).toBe(200);
    expect(await statuses("/v1/hosts")).toEqual([403, 200, 200]);
    expect(await statuses("/metrics")).toEqual([403, 200, 200]);
    expect(await statuses("/v1/keys")).toEqual([403, 403, 200]);
    expect(await statuses("/v1/usage?tenant=other")).toEqual([403, 200, 200]);
  });
});

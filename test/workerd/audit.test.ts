import type { AuditEntry, Execution, Problem, Session } from "@sandbar/shared";
import { generateKeyPair } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { AUDITED } from "../../worker/src/audit/actions.ts";
import { addToAudit, pruneAudit } from "../../worker/src/db/audit.ts";
import { bindings, Client } from "./client.ts";
import { type FakeDaemon, ORIGIN, onlyHost, worker } from "./fake-daemon.ts";

let host: FakeDaemon;
beforeEach(async () => {
  host = await onlyHost();
});

type Page = { data: AuditEntry[]; next_cursor: string | null };

async function lines(client: Client, query: Record<string, string>): Promise<AuditEntry[]> {
  const { body } = await client.call<Page>("GET", `/v1/audit?${new URLSearchParams(query)}`);
  return body.data;
}

/** The newest line that fits, once it is written. */
async function line(client: Client, query: Record<string, string>): Promise<AuditEntry> {
  await expect.poll(() => lines(client, query), { timeout: 15_000 }).not.toEqual([]);
  return (await lines(client, query))[0]!;
}

const idOf = async (client: Client) =>
  (await client.call<{ key: { id: string } }>("GET", "/v1/me")).body.key.id;

describe("the audit log", () => {
  it("says who did what, to what, from where, and under which request", async () => {
    const alice = await Client.of("audit-a");
    const answer = await alice.call<Session>("POST", "/v1/sessions", {}, { "CF-Connecting-IP": "192.0.2.1" });
    const made = await line(alice, { action: "session.create" });
    expect(made).toMatchObject({
      tenant: "audit-a",
      key_id: await idOf(alice),
      via: "key",
      address: "192.0.2.1",
      target: answer.body.id,
      result: "ok",
      count: 1,
      request_id: answer.headers.get("X-Request-Id"),
    });
    await alice.call("DELETE", `/v1/sessions/${answer.body.id}`);
    expect((await line(alice, { action: "session.delete" })).target).toBe(answer.body.id);
  });

  it("has one line an hour for what a key does in a session, and the journal knows who asked for each run", async () => {
    const alice = await Client.of("audit-use");
    const by = await idOf(alice);
    const session = await alice.session();
    expect(session.created_by).toBe(by);
    for (let i = 0; i < 5; i++) expect((await alice.execute(session.id, "1")).body.created_by).toBe(by);
    await line(alice, { action: "session.run", target: session.id });
    await alice.execute(session.id, "1");
    await alice.call("POST", "/v1/volumes", { name: "later" });
    await line(alice, { action: "volume.create" });
    expect(await lines(alice, { action: "session.run" })).toHaveLength(1);
    const { body } = await alice.call<{ data: Execution[] }>("GET", `/v1/sessions/${session.id}/executions`);
    expect(body.data.map(({ created_by }) => created_by)).toEqual(Array(6).fill(by));
    const listed = await alice.call<{ data: Session[] }>("GET", "/v1/sessions");
    expect(listed.body.data[0]!.created_by).toBe(by);
  });

  it("counts refusals of one kind in one line", async () => {
    const operator = await Client.of("audit-op", ["operator"]);
    const agent = await Client.of("audit-refused");
    // At once: what was gathered before is written meanwhile, and would part them.
    await Promise.all(Array.from({ length: 7 }, () => agent.call("GET", "/v1/hosts")));
    expect(await line(operator, { tenant: "audit-refused", result: "refused" })).toMatchObject({
      action: "GET /v1/hosts",
      result: "FORBIDDEN",
      count: 7,
    });
    for (let i = 0; i < 3; i++)
      await worker.fetch(`${ORIGIN}/v1/keys`, {
        method: "POST",
        headers: { Authorization: `Bearer sbk_${"B".repeat(43)}`, "CF-Connecting-IP": "192.0.2.66" },
      });
    expect(await line(operator, { address: "192.0.2.66" })).toMatchObject({
      action: "key.create",
      tenant: null,
      key_id: null,
      result: "UNAUTHENTICATED",
      count: 3,
    });
  });

  it("knows keys, hosts and sign-ins", async () => {
    const admin = await Client.of("audit-root", ["admin"]);
    const { body: key } = await admin.call<{ id: string; secret: string }>("POST", "/v1/keys", {
      name: "ci",
      tenant: "audit-b",
      scopes: ["agent"],
    });
    const made = await line(admin, { action: "key.create", target: key.id });
    expect(made.detail).toBe("ci, tenant audit-b, agent");
    expect(JSON.stringify(made)).not.toContain(key.secret);
    await worker.fetch(`${ORIGIN}/console/sign-in`, {
      method: "POST",
      headers: { "Content-Type": "application/json", Origin: ORIGIN },
      body: JSON.stringify({ api_key: key.secret }),
    });
    expect(await line(admin, { action: "console.sign-in" })).toMatchObject({
      tenant: "audit-b",
      key_id: key.id,
    });
    await admin.call("DELETE", `/v1/keys/${key.id}`);
    await line(admin, { action: "key.revoke", target: key.id });
    await line(admin, { action: "host.join", target: host.host });
    await line(admin, { action: "host.connect", target: host.host, result: "ok" });
    const { privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519" });
    await host.twin().connect(privateKey);
    await line(admin, { action: "host.connect", target: host.host, result: "UNAUTHENTICATED" });
    await admin.call("POST", `/v1/hosts/${host.host}/drain`);
    await line(admin, { action: "host.drain", target: host.host });
    expect((await lines(admin, { action: "host." })).length).toBeGreaterThan(3);
  });

  it("shows a tenant its own lines and an operator all, in pages", async () => {
    const alice = await Client.of("audit-own");
    const bob = await Client.of("audit-other");
    const operator = await Client.of("audit-op2", ["operator"]);
    for (const name of ["one", "two", "three"]) await alice.call("POST", "/v1/volumes", { name });
    await expect.poll(() => lines(alice, { action: "volume.create" })).toHaveLength(3);
    expect(await lines(bob, {})).toEqual([]);
    expect((await bob.call<Problem>("GET", "/v1/audit?tenant=audit-own")).body.code).toBe("FORBIDDEN");
    expect(await lines(operator, { tenant: "audit-own", action: "volume." })).toHaveLength(3);
    const query = "/v1/audit?action=volume.create&limit=2";
    const first = await alice.call<Page>("GET", query);
    expect(first.body.data.map(({ target }) => target)).toEqual(["three", "two"]);
    const rest = await alice.call<Page>("GET", `${query}&cursor=${first.body.next_cursor}`);
    expect(rest.body).toMatchObject({ data: [{ target: "one" }], next_cursor: null });
    expect(await lines(alice, { until: "2020-01-01T00:00:00Z" })).toEqual([]);
    expect((await alice.call<Problem>("GET", "/v1/audit?since=yesterday")).body.code).toBe(
      "VALIDATION_FAILED",
    );
  });

  it("is only ever added to, by anybody, until its retention is over", async () => {
    const alice = await Client.of("audit-kept");
    await alice.call("POST", "/v1/volumes", { name: "kept" });
    const kept = await line(alice, { action: "volume.create" });
    const old = { ...kept, id: "aud_00000000000000000000000001", at: "2020-01-01T00:00:00.000Z" };
    await addToAudit(bindings.DB, [old]);
    await expect(bindings.DB.prepare("UPDATE audit SET result = 'x'").run()).rejects.toThrow(
      "only ever added to",
    );
    await expect(bindings.DB.prepare("DELETE FROM audit").run()).rejects.toThrow("only ever added to");
    await pruneAudit(bindings.DB, new Date(Date.now() - 48 * 3_600_000).toISOString());
    expect((await lines(alice, {})).map(({ id }) => id)).toEqual([kept.id]);
    for (const method of ["POST", "PUT", "PATCH", "DELETE"])
      expect((await alice.call<Problem>(method, "/v1/audit")).body.code).toBe("METHOD_NOT_ALLOWED");
  });

  it("has a word for every route that changes something", async () => {
    const spec = await (await worker.fetch(`${ORIGIN}/openapi.json`)).json<{
      paths: Record<string, object>;
    }>();
    const routes = Object.entries(spec.paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => !["get", "parameters"].includes(method))
        .map((method) => `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`),
    );
    expect(routes.length).toBeGreaterThan(30);
    expect(routes.filter((route) => AUDITED[route] === undefined)).toEqual([]);
  });
});

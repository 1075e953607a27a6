import type { Me, NewSessionToken, Problem, SessionToken, TokenVerb } from "@sandbar/shared";
import { SignJWT } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { currentKey } from "../../worker/src/artifacts/signing-keys.ts";
import { forgetKeys } from "../../worker/src/auth.ts";
import { createKey, deleteKey } from "../../worker/src/db/keys.ts";
import { deleteToken, pruneTokens } from "../../worker/src/db/session-tokens.ts";
import { VERBS } from "../../worker/src/token-verbs.ts";
import { bindings, Client, readSse } from "./client.ts";
import { type FakeDaemon, ORIGIN, onlyHost, outcome, printed, until, worker } from "./fake-daemon.ts";

let host: FakeDaemon;
beforeEach(async () => {
  host = await onlyHost();
});

async function withToken(tenant: string, verbs: TokenVerb[], more: Record<string, unknown> = {}) {
  const key = await createKey(bindings.DB, { name: "maker", tenant, scopes: ["admin"] });
  const client = new Client(key.secret);
  const { id } = await client.session();
  const { status, body } = await client.call<NewSessionToken>("POST", `/v1/sessions/${id}/tokens`, {
    verbs,
    ...more,
  });
  expect(status).toBe(201);
  return { key, client, session: id, made: body, token: new Client(body.token) };
}

const EXECUTIONS = (id: string) => `/v1/sessions/${id}/executions`;

/** Every operation of the OpenAPI document, as the table of verbs names it. */
async function operations(): Promise<{ route: string; method: string; path: string }[]> {
  const document = await (await worker.fetch(`${ORIGIN}/openapi.json`)).json<{
    paths: Record<string, Record<string, { security?: unknown[] }>>;
  }>();
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([, { security }]) => security?.length)
      .map(([method]) => ({
        route: `${method.toUpperCase()} ${path.replace(/\{(\w+)\}/g, ":$1")}`,
        method: method.toUpperCase(),
        path,
      })),
  );
}

describe("a session's token", () => {
  it("is shown once, listed without itself, and says what it is for", async () => {
    const { client, session, made, token, key } = await withToken("tok1", ["run", "read"], { label: "demo" });
    expect(made).toMatchObject({
      session_id: session,
      verbs: ["run", "read"],
      label: "demo",
      key_id: key.id,
    });
    expect(made.token).toMatch(/^sbt_[\w-]+\.[\w-]+\.[\w-]+$/);
    const left = Date.parse(made.expires_at) - Date.now();
    expect(left).toBeGreaterThan(3_500_000);
    expect(left).toBeLessThanOrEqual(3_600_000);
    const { body: listed } = await client.call<{ data: SessionToken[] }>(
      "GET",
      `/v1/sessions/${session}/tokens`,
    );
    expect(listed.data.map(({ id }) => id)).toEqual([made.id]);
    expect(JSON.stringify(listed)).not.toContain("sbt_");
    const { body: me } = await token.call<Me>("GET", "/v1/me");
    expect(me).toMatchObject({
      tenant: "tok1",
      key: { id: key.id },
      scopes: ["agent"],
      via: "token",
      token: { id: made.id, session_id: session, verbs: ["run", "read"] },
    });
  });

  it("lives as long as was asked for, never longer than its key, and only within bounds", async () => {
    const expires_at = new Date(Date.now() + 120_000).toISOString();
    const brief = await createKey(bindings.DB, { name: "x", tenant: "tok2", scopes: ["agent"], expires_at });
    const client = new Client(brief.secret);
    const { id } = await client.session();
    const make = (body: unknown) => client.call<NewSessionToken>("POST", `/v1/sessions/${id}/tokens`, body);
    expect((await make({ verbs: ["run"] })).body.expires_at).toBe(expires_at);
    expect(Date.parse((await make({ verbs: ["run"], ttl_s: 60 })).body.expires_at)).toBeLessThan(
      Date.parse(expires_at),
    );
    for (const wrong of [
      {},
      { verbs: [] },
      { verbs: ["everything"] },
      { verbs: ["run", "run"] },
      { verbs: ["run"], ttl_s: 59 },
      { verbs: ["run"], ttl_s: 86_401 },
      { verbs: ["run"], ttl_s: 1.5 },
      { verbs: ["run"], label: "" },
      { verbs: ["run"], session_id: "other" },
    ])
      expect((await make(wrong)).status, JSON.stringify(wrong)).toBe(400);
  });

  it("runs code, and what it makes and does says so", async () => {
    const { session, made, token, client } = await withToken("tok3", ["run"]);
    host.onRun = ({ execution }, of) =>
      host.events(of, execution, printed("hello"), outcome({ last_seq: 2 }));
    const { status, body } = await token.execute(session, "1");
    expect([status, body.status]).toEqual([200, "ok"]);
    expect((await token.call(`GET`, `${EXECUTIONS(session)}/${body.id}`)).status).toBe(200);
    expect(body.created_by).toBe(made.id);
    const by = await until(async () => {
      const { body: audit } = await client.call<{ data: { token_id: string; action: string }[] }>(
        "GET",
        `/v1/audit?action=session.run&by=${made.id}`,
      );
      return audit.data[0];
    });
    expect(by.token_id).toBe(made.id);
  });

  it("with every verb opens nothing but what the table says, on every route there is", async () => {
    const { session, token } = await withToken("tok4", ["run", "files", "terminal", "ports", "read"]);
    const all = await operations();
    expect(all.length).toBeGreaterThan(80);
    const routes = new Set(all.map(({ route }) => route));
    const tables = Object.keys(VERBS).filter((route) => !route.startsWith("ALL "));
    expect(tables.filter((route) => !routes.has(route))).toEqual([]);
    const open: string[] = [];
    for (const { route, method, path } of all) {
      if (VERBS[route] || path.startsWith("/v1/sessions/{id}/ports/{port}/{path}")) continue;
      // Its own door, below.
      if (path === "/metrics") continue;
      const at = path.replace("{id}", path.includes("/sessions/") ? session : "x").replace(/\{\w+\}/g, "x");
      const answer = await token.fetch(at, { method });
      const { code } = await answer.json<Problem>();
      if (answer.status !== 403 || code !== "FORBIDDEN_BY_TOKEN")
        open.push(`${route}: ${answer.status} ${code}`);
    }
    // Paths that are no routes are not told apart, and what has no key in the document is open to all.
    expect(open).toEqual([]);
    for (const path of ["/metrics", "/langgraph/threads/search", "/v1/nothing"])
      expect((await token.fetch(path)).status, path).toBe(403);
  });

  it("refuses what it has no verb for, and names the verb", async () => {
    for (const verb of ["run", "files", "terminal", "ports", "read"] as const) {
      const { session, token } = await withToken(`tok5${verb}`, [verb]);
      for (const { route, method, path } of await operations()) {
        const verbs = VERBS[route];
        if (!verbs || verbs.length === 0 || verbs.includes(verb)) continue;
        const at = path.replace("{id}", path.includes("/sessions/") ? session : "x").replace(/\{\w+\}/g, "x");
        const answer = await token.fetch(at, { method });
        const { code, detail } = await answer.json<Problem>();
        expect([route, answer.status, code]).toEqual([route, 403, "FORBIDDEN_BY_TOKEN"]);
        expect(detail).toContain(`the verb ${verbs.join(" or ")}`);
      }
      expect((await token.call("GET", `/v1/sessions/${session}`)).status).toBe(200);
    }
  });

  it("meets another session, of its tenant or not, as a missing one", async () => {
    const { client, token } = await withToken("tok6", ["run", "files", "read", "ports", "terminal"]);
    const sibling = await client.session();
    const foreign = await (await Client.of("tok6-other")).session();
    const missing = "ses_0000000000000000000000000z";
    for (const [method, path, json] of [
      ["GET", ""],
      ["DELETE", ""],
      ["POST", "/executions", { code: "1" }],
      ["GET", "/files/list"],
      ["POST", "/tokens", { verbs: ["run"] }],
      ["GET", "/ports/8000/x"],
    ] as [string, string, unknown?][]) {
      const answers = [];
      for (const id of [sibling.id, foreign.id, missing]) {
        const { status, body } = await token.call<Problem>(method, `/v1/sessions/${id}${path}`, json);
        answers.push({ ...body, status, request_id: "" });
      }
      expect(answers[0]!.status, `${method} ${path}`).toBe(404);
      expect(answers[0]).toEqual(answers[2]);
      expect(answers[1]).toEqual(answers[2]);
    }
    expect((await client.call<{ status: string }>("GET", `/v1/sessions/${sibling.id}`)).body.status).toBe(
      "ready",
    );
  });

  it("imports text, and nothing from elsewhere in its tenant", async () => {
    const { client, session, token } = await withToken("tok7", ["files"]);
    const sibling = await client.session();
    const files = [
      { destination: "a", session_id: sibling.id, path: "secret" },
      { destination: "b", artifact_id: `art_${"0".repeat(26)}` },
      { destination: "c", source: "/etc/hostname" },
    ];
    const { body } = await token.call<{ data: { ok: boolean; error: Problem }[] }>(
      "POST",
      `/v1/sessions/${session}/import`,
      { files },
    );
    expect(body.data.map(({ ok, error }) => [ok, error.code])).toEqual(
      files.map(() => [false, "FORBIDDEN_BY_TOKEN"]),
    );
  });

  it("sees artifacts of its session only", async () => {
    const { client, session, token } = await withToken("tok8", ["read"]);
    const sibling = await client.session();
    const [own, other] = await Promise.all(
      [session, sibling.id].map(async (of, at) => {
        const id = `art_${"0".repeat(25)}${at}`;
        await bindings.DB.prepare(
          `INSERT INTO artifacts (id, tenant, session_id, name, mime, size, sha256, version, created_at)
           VALUES (?, 'tok8', ?, 'a.txt', 'text/plain', 1, ?, '', ?)`,
        )
          .bind(id, of, String(at).repeat(64), new Date().toISOString())
          .run();
        return id;
      }),
    );
    const ids = async (query = "") =>
      (await token.call<{ data: { id: string }[] }>("GET", `/v1/artifacts${query}`)).body.data.map(
        ({ id }) => id,
      );
    expect(await ids()).toEqual([own]);
    expect(await ids(`?session_id=${sibling.id}`)).toEqual([]);
    expect((await token.call("GET", `/v1/artifacts/${own}`)).status).toBe(200);
    for (const [method, path] of [
      ["GET", ""],
      ["GET", "/content"],
      ["POST", "/link"],
    ] as const)
      expect((await token.call(method, `/v1/artifacts/${other}${path}`)).status, path).toBe(404);
    // A link may not outlive who asked for it.
    const { body: link } = await token.call<{ expires_at: string }>("POST", `/v1/artifacts/${own}/link`, {
      expires_in_s: 86_400,
    });
    expect(Date.parse(link.expires_at)).toBeLessThanOrEqual(Date.now() + 3_600_000);
  });

  it("that is forged, unsigned, expired, or made for something else is refused", async () => {
    const { made, session } = await withToken("tok9", ["read"]);
    const { secret, kid } = await currentKey(bindings);
    const later = Math.floor(Date.now() / 1000) + 600;
    const sign = (audience: string, expires: number, key: CryptoKey | Uint8Array = secret) =>
      new SignJWT({ session })
        .setProtectedHeader({ alg: "HS256", kid })
        .setSubject(made.id)
        .setAudience(audience)
        .setExpirationTime(expires)
        .sign(key);
    const [head, payload, signature] = made.token.slice(4).split(".");
    const encode = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
    const wrong: Record<string, string> = {
      nothing: "",
      "the id alone": made.id,
      "alg none": `${encode({ alg: "none", kid })}.${payload}.`,
      "another key": await sign("session", later, crypto.getRandomValues(new Uint8Array(32))),
      "other claims": `${head}.${encode({ ...JSON.parse(atob(payload!)), sub: "tok_x" })}.${signature}`,
      expired: await sign("session", later - 601),
      "a cookie": await sign("console", later),
      "a preview": await sign("preview", later),
      "an unknown kid": `${encode({ alg: "HS256", kid: "other" })}.${payload}.${signature}`,
    };
    for (const [what, token] of Object.entries(wrong))
      expect((await new Client(`sbt_${token}`).call("GET", "/v1/me")).status, what).toBe(401);
    expect((await new Client(`sbt_${await sign("session", later)}`).call("GET", "/v1/me")).status).toBe(200);
  });

  it("ends when it is taken back, and nobody else's can be", async () => {
    const { client, session, made, token } = await withToken("tok10", ["read"]);
    const other = await Client.of("tok10-other");
    const path = `/v1/sessions/${session}/tokens/${made.id}`;
    expect((await other.call("DELETE", path)).status).toBe(404);
    const elsewhere = await client.session();
    expect((await client.call("DELETE", `/v1/sessions/${elsewhere.id}/tokens/${made.id}`)).status).toBe(404);
    expect((await token.call("GET", "/v1/me")).status).toBe(200);
    expect((await client.call("DELETE", path)).status).toBe(204);
    expect((await token.call("GET", "/v1/me")).status).toBe(401);
    expect((await client.call("DELETE", path)).status).toBe(404);
  });

  it("ends with its session, and then there is no new one", async () => {
    const { client, session, token } = await withToken("tok11", ["read"]);
    expect((await client.call("DELETE", `/v1/sessions/${session}`)).status).toBe(204);
    await until(async () => {
      forgetKeys();
      return (await token.call("GET", "/v1/me")).status === 401;
    });
    const again = await client.call<Problem>("POST", `/v1/sessions/${session}/tokens`, { verbs: ["read"] });
    expect(again.body.code).toBe("SESSION_ENDED");
    await pruneTokens(bindings.DB);
    const kept = await bindings.DB.prepare("SELECT count(*) AS n FROM session_tokens WHERE session_id = ?")
      .bind(session)
      .first<number>("n");
    expect(kept).toBe(0);
  });
});

describe("what is revoked in another isolate", () => {
  it("ends for a token, for a key and for what they have open", async () => {
    host.onRun = () => {};
    const { key, session, made, token, client } = await withToken("news1", ["run", "read"]);
    const own = await createKey(bindings.DB, { name: "own", tenant: "news1", scopes: ["agent"] });
    const ownClient = new Client(own.secret);
    const open = async (by: Client) => readSse(await by.fetch(`/v1/sessions/${session}/events`));
    // A request that waits for code which does not end.
    const held = async (by: Client) => (await by.execute(session, "forever")).status;
    const streams = [open(token), open(ownClient)];
    const waiting = [held(token), held(ownClient)];
    await until(() => host.runs().length > 0);
    const kept = new AbortController();
    const stays = client.fetch(`/v1/sessions/${session}/events`, { signal: kept.signal });

    // Not through the API, which would tell this isolate.
    await deleteToken(bindings.DB, "news1", session, made.id);
    await deleteKey(bindings.DB, own.id);
    await Promise.all(streams);
    expect(await Promise.all(waiting)).toEqual([401, 401]);
    await until(async () => (await token.call("GET", "/v1/me")).status === 401);
    await until(async () => (await ownClient.call("GET", "/v1/me")).status === 401);
    expect((await client.call("GET", "/v1/me")).status).toBe(200);
    const { body } = await stays;
    await body?.cancel();
    expect(key.id).toMatch(/^key_/);
  });

  it("ends tokens with the key that made them", async () => {
    const { key, token, session } = await withToken("news2", ["read"]);
    const stream = readSse(await token.fetch(`/v1/sessions/${session}/events`));
    await deleteKey(bindings.DB, key.id);
    await stream;
    await until(async () => (await token.call("GET", "/v1/me")).status === 401);
  });
});

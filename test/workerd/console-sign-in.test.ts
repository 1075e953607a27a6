import type { ConsoleLink, Me, Problem, Scope } from "@sandbar/shared";
import { SignJWT } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { currentKey } from "../../worker/src/artifacts/signing-keys.ts";
import { forgetKeys } from "../../worker/src/auth.ts";
import { addConsoleSession, pruneConsole } from "../../worker/src/db/console.ts";
import { createKey, deleteKey } from "../../worker/src/db/keys.ts";
import { Browser } from "./browser.ts";
import { bindings, Client, readSse } from "./client.ts";
import { ORIGIN, onlyHost, worker } from "./fake-daemon.ts";

beforeEach(async () => {
  await onlyHost();
});

const COOKIE = "__Host-sandbar";
const LATER = () => Math.floor(Date.now() / 1000) + 3600;

async function signedIn(tenant: string, scopes: Scope[] = ["agent"]) {
  const key = await createKey(bindings.DB, { name: "mine", tenant, scopes });
  const browser = new Browser();
  expect(await browser.signIn({ api_key: key.secret })).toBe(204);
  return { browser, key, client: new Client(key.secret) };
}

const status = async (browser: Browser, path: string, init?: RequestInit & { json?: unknown }) => {
  const answer = await browser.fetch(path, init);
  await answer.body?.cancel();
  return answer.status;
};

describe("GET /v1/me", () => {
  it("says who calls, whatever the key may do, and what others include", async () => {
    const admin = await Client.of("me1", ["admin"]);
    const { body } = await admin.call<Me>("GET", "/v1/me");
    expect(body).toEqual({
      tenant: "me1",
      key: { id: expect.stringMatching(/^key_/), name: "test" },
      scopes: ["admin", "operator", "agent"],
      expires_at: null,
      via: "key",
    });
    const operator = await Client.of("me1", ["operator"]);
    expect((await operator.call<Me>("GET", "/v1/me")).body.scopes).toEqual(["operator"]);
  });
});

describe("signing in", () => {
  it("with a key gives a cookie that stands for the key and does not hold it", async () => {
    const key = await createKey(bindings.DB, { name: "mine", tenant: "in1", scopes: ["agent"] });
    const answer = await new Browser().fetch("/console/sign-in", {
      method: "POST",
      json: { api_key: key.secret },
    });
    expect(answer.status).toBe(204);
    const [line = ""] = answer.headers.getSetCookie();
    expect(line).toMatch(/^__Host-sandbar=/);
    for (const attribute of ["Path=/", "HttpOnly", "Secure", "SameSite=Strict", "Expires="])
      expect(line).toContain(attribute);
    expect(line).not.toContain("Domain");
    const payload = JSON.parse(
      atob(line.split("=")[1]!.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")),
    );
    expect(payload).toEqual({
      sub: expect.stringMatching(/^con_/),
      key: key.id,
      aud: "console",
      exp: expect.any(Number),
    });
    expect(payload.exp - Date.now() / 1000).toBeLessThanOrEqual(12 * 3600);
    const browser = new Browser().keep(COOKIE, line.split(";")[0]!.split("=")[1]!);
    const me = await browser.json<Me>("/v1/me");
    expect(me).toMatchObject({ tenant: "in1", key: { id: key.id }, via: "cookie", scopes: ["agent"] });
    expect(Date.parse(me.expires_at!) - Date.now()).toBeLessThanOrEqual(12 * 3600_000);
  });

  it("over plain HTTP gives a cookie whose name has the port, since browsers share cookies among ports", async () => {
    const { secret } = await createKey(bindings.DB, { name: "x", tenant: "in2", scopes: ["agent"] });
    const browser = new Browser("http://127.0.0.1:8787");
    const answer = await browser.fetch("/console/sign-in", { method: "POST", json: { api_key: secret } });
    const [line = ""] = answer.headers.getSetCookie();
    expect(line).toMatch(/^sandbar-8787=/);
    expect(line).not.toContain("Secure");
    expect(await status(browser, "/v1/me")).toBe(200);
    const other = new Browser("http://127.0.0.1:8788").keep("sandbar-8787", browser.cookie.split("=")[1]!);
    expect(await status(other, "/v1/me")).toBe(401);
  });

  it("with a link's code works once, and only for ten minutes", async () => {
    const key = await createKey(bindings.DB, { name: "x", tenant: "in3", scopes: ["operator"] });
    const client = new Client(key.secret);
    const { status: made, body: link } = await client.call<ConsoleLink>("POST", "/v1/console/codes");
    expect(made).toBe(201);
    expect(link.url).toBe(`${ORIGIN}/sign-in#${link.code}`);
    expect(Date.parse(link.expires_at) - Date.now()).toBeLessThanOrEqual(600_000);
    const browsers = [new Browser(), new Browser(), new Browser()];
    const answers = await Promise.all(browsers.map((browser) => browser.signIn({ code: link.code })));
    expect(answers.sort()).toEqual([204, 401, 401]);
    expect(await new Browser().signIn({ code: link.code })).toBe(401);

    const late = await client.call<ConsoleLink>("POST", "/v1/console/codes");
    await bindings.DB.prepare("UPDATE console_codes SET expires_at = '2020-01-01T00:00:00.000Z'").run();
    expect(await new Browser().signIn({ code: late.body.code })).toBe(401);
    await pruneConsole(bindings.DB);
    expect(await bindings.DB.prepare("SELECT count(*) AS n FROM console_codes").first("n")).toBe(0);
  });

  it("with a code whose key was revoked is refused", async () => {
    const key = await createKey(bindings.DB, { name: "x", tenant: "in4", scopes: ["agent"] });
    const { body } = await new Client(key.secret).call<ConsoleLink>("POST", "/v1/console/codes");
    await deleteKey(bindings.DB, key.id);
    expect(await new Browser().signIn({ code: body.code })).toBe(401);
  });

  it("is refused to keys that are not known, and to bodies that are neither", async () => {
    const browser = new Browser();
    expect(await browser.signIn({ api_key: `sbk_${"A".repeat(43)}` })).toBe(401);
    expect(browser.cookie).toBe("");
    for (const json of [{}, { api_key: 1 }, { api_key: "" }, { api_key: "a", code: "b" }, [], null])
      expect(await status(browser, "/console/sign-in", { method: "POST", json }), JSON.stringify(json)).toBe(
        400,
      );
  });

  it("never waits for those who guess, who are slowed down and bounded", async () => {
    const { secret } = await createKey(bindings.DB, { name: "x", tenant: "in5", scopes: ["agent"] });
    const began = Date.now();
    const guesses = Promise.all(
      Array.from({ length: 40 }, (_, i) => new Browser().signIn({ code: `guess-${i}` })),
    );
    expect(await new Browser().signIn({ api_key: secret })).toBe(204);
    const refusals = await guesses;
    expect(refusals.filter((code) => code === 429).length).toBeGreaterThan(0);
    expect(refusals.filter((code) => code === 401).length).toBeLessThanOrEqual(20);
    expect(Date.now() - began).toBeGreaterThanOrEqual(1_000);
  });

  it("is for pages of this origin only", async () => {
    const { secret } = await createKey(bindings.DB, { name: "x", tenant: "in6", scopes: ["agent"] });
    for (const Origin of ["https://evil.test", "null", "http://sandbar.test", ""]) {
      const init = { method: "POST", json: { api_key: secret }, headers: { Origin } };
      expect(await status(new Browser(), "/console/sign-in", init), Origin).toBe(403);
    }
    const none = await worker.fetch(`${ORIGIN}/console/sign-in`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ api_key: secret }),
    });
    expect(none.status).toBe(403);
    expect((await none.json<Problem>()).code).toBe("ORIGIN_NOT_ALLOWED");
  });

  it("is bounded per key: the oldest browser is signed out first", async () => {
    const key = await createKey(bindings.DB, { name: "x", tenant: "in7", scopes: ["agent"] });
    for (let i = 0; i < 103; i++) await addConsoleSession(bindings.DB, key, 60_000);
    const count = bindings.DB.prepare("SELECT count(*) AS n FROM console_sessions WHERE key_id = ?").bind(
      key.id,
    );
    expect(await count.first("n")).toBe(100);
  });

  it("ends with the key's own end, if that comes sooner", async () => {
    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const key = await createKey(bindings.DB, { name: "x", tenant: "in8", scopes: ["agent"], expires_at });
    const browser = new Browser();
    await browser.signIn({ api_key: key.secret });
    expect((await browser.json<Me>("/v1/me")).expires_at).toBe(expires_at);
  });
});

describe("the console's cookie", () => {
  it("works wherever a key does, with the key's tenant and scopes", async () => {
    const { browser } = await signedIn("cookie1");
    expect(await status(browser, "/v1/sessions", { method: "POST", json: {} })).toBe(201);
    expect((await browser.json<{ data: unknown[] }>("/v1/sessions")).data).toHaveLength(1);
    expect(await status(browser, "/v1/hosts")).toBe(403);
    const operator = await signedIn("cookie1", ["operator"]);
    expect(await status(operator.browser, "/metrics")).toBe(200);
    expect(await status(operator.browser, "/v1/sessions")).toBe(403);
  });

  it("changes nothing for other pages, and nothing without an Origin", async () => {
    const { browser } = await signedIn("cookie2");
    const post = (headers: Record<string, string>) =>
      worker.fetch(`${ORIGIN}/v1/sessions`, {
        method: "POST",
        headers: { Cookie: browser.cookie, "Content-Type": "application/json", ...headers },
        body: "{}",
      });
    for (const headers of [
      {},
      { Origin: "null" },
      { Origin: "https://evil.test" },
      { Origin: "http://sandbar.test" },
      { Origin: "https://sandbar.test.evil.test" },
      { Origin: "https://sandbar.test:8443" },
      { Origin: ORIGIN, "Sec-Fetch-Site": "cross-site" },
      { Origin: ORIGIN, "Sec-Fetch-Site": "same-site" },
    ]) {
      const answer = await post(headers as Record<string, string>);
      expect(answer.status, JSON.stringify(headers)).toBe(403);
      expect((await answer.json<Problem>()).code).toBe("ORIGIN_NOT_ALLOWED");
    }
    for (const method of ["DELETE", "PATCH", "PUT"])
      expect(
        await status(browser, "/v1/sessions/x", { method, headers: { Origin: "https://evil.test" } }),
      ).toBe(403);
    expect((await browser.json<{ data: unknown[] }>("/v1/sessions")).data).toEqual([]);
  });

  it("is not read by pages of other origins, sandboxed ones included", async () => {
    const { browser } = await signedIn("cookie3");
    const strangers: Record<string, string>[] = [
      { Origin: "null" },
      { Origin: "https://evil.test" },
      { "Sec-Fetch-Site": "cross-site" },
      { "Sec-Fetch-Site": "same-site" },
    ];
    for (const headers of strangers) expect(await status(browser, "/v1/sessions", { headers })).toBe(403);
    for (const site of ["same-origin", "none"])
      expect(await status(browser, "/v1/sessions", { headers: { "Sec-Fetch-Site": site } })).toBe(200);
  });

  it("opens WebSockets for pages of this origin only", async () => {
    const { browser } = await signedIn("cookie4");
    const path = "/v1/sessions/ses_0000000000000000000000000z/terminal";
    const upgrade = (headers: Record<string, string>) =>
      status(browser, path, { headers: { Upgrade: "websocket", ...headers } });
    expect(await upgrade({})).toBe(403);
    expect(await upgrade({ Origin: "https://evil.test" })).toBe(403);
    expect(await upgrade({ Origin: "null" })).toBe(403);
    // Past the door: only now is it asked for the session.
    expect(await upgrade({ Origin: ORIGIN })).toBe(404);
  });

  it("does not stand in for a key that is wrong", async () => {
    const { browser } = await signedIn("cookie5");
    expect(await status(browser, "/v1/me", { headers: { Authorization: "Bearer sbk_wrong" } })).toBe(401);
  });

  it("that is forged, unsigned, expired, or made for something else is refused", async () => {
    const { browser, key } = await signedIn("cookie6");
    const { secret, kid } = await currentKey(bindings);
    const session = await addConsoleSession(bindings.DB, key, 3600_000);
    const token = (alg = "HS256", audience = "console", expires: number | string = LATER()) =>
      new SignJWT({ key: key.id })
        .setProtectedHeader({ alg, kid })
        .setSubject(session.id)
        .setAudience(audience)
        .setExpirationTime(expires);
    const base64 = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
    const claims = { sub: session.id, aud: "console", exp: LATER(), key: key.id };
    const [head, payload, signature] = (await token().sign(secret)).split(".");
    const changed = base64({ ...claims, sub: "con_00000000000000000000000000" });
    const wrong: Record<string, string> = {
      nothing: "",
      text: "hello",
      "the id alone": session.id,
      "alg none": `${base64({ alg: "none", kid })}.${base64(claims)}.`,
      "alg none with a signature": `${base64({ alg: "none", kid })}.${payload}.${signature}`,
      "another key": await token().sign(crypto.getRandomValues(new Uint8Array(32))),
      "other claims": `${head}.${changed}.${signature}`,
      expired: await token("HS256", "console", Math.floor(Date.now() / 1000) - 1).sign(secret),
      "of an artifact": await token("HS256", "artifact").sign(secret),
      "an unknown kid": `${base64({ alg: "HS256", kid: "other" })}.${payload}.${signature}`,
      "too long": `${head}.${payload}.${"A".repeat(3_000)}`,
    };
    for (const [what, value] of Object.entries(wrong))
      expect(await status(new Browser().keep(COOKIE, value), "/v1/me"), what).toBe(401);
    expect(await status(new Browser().keep(COOKIE, await token().sign(secret)), "/v1/me")).toBe(200);
    // Over HTTPS a cookie without the prefix may have come from another host of the domain.
    const plain = browser.cookie.split("=")[1]!;
    expect(await status(new Browser().keep("sandbar", plain), "/v1/me")).toBe(401);
  });

  it("cannot make links that would outlive it", async () => {
    const { browser } = await signedIn("cookie7");
    expect(await status(browser, "/v1/console/codes", { method: "POST" })).toBe(403);
  });

  it("is nothing to /mcp, which takes keys", async () => {
    const { browser } = await signedIn("cookie8");
    expect(await status(browser, "/mcp", { method: "POST", json: {} })).toBe(401);
  });
});

describe("signing out", () => {
  it("ends the cookie at once, wherever it was copied to, and takes it from the browser", async () => {
    const { browser } = await signedIn("out1");
    const copy = new Browser().keep(COOKIE, browser.cookie.split("=")[1]!);
    expect(await status(copy, "/v1/me")).toBe(200);
    expect(await status(browser, "/console/sign-out", { method: "POST" })).toBe(204);
    expect(browser.cookie).toBe("");
    expect(await status(copy, "/v1/me")).toBe(401);
    // It is not only forgotten here: another isolate would not find it either.
    forgetKeys();
    expect(await status(copy, "/v1/me")).toBe(401);
    expect(await status(copy, "/console/sign-out", { method: "POST" })).toBe(204);
  });

  it("is not done by another page", async () => {
    const { browser } = await signedIn("out2");
    const Origin = "https://evil.test";
    expect(await status(browser, "/console/sign-out", { method: "POST", headers: { Origin } })).toBe(403);
    expect(await status(browser, "/v1/me")).toBe(200);
  });

  it("leaves other browsers of the same key signed in; signing in again ends what was", async () => {
    const { browser, key } = await signedIn("out3");
    const other = new Browser();
    await other.signIn({ api_key: key.secret });
    const old = new Browser().keep(COOKIE, browser.cookie.split("=")[1]!);
    await browser.signIn({ api_key: key.secret });
    forgetKeys();
    expect(await status(old, "/v1/me")).toBe(401);
    expect(await status(browser, "/console/sign-out", { method: "POST" })).toBe(204);
    expect(await status(other, "/v1/me")).toBe(200);
  });

  it("ends the event streams that were open, within seconds", async () => {
    const { browser, client } = await signedIn("out4");
    const { id } = await client.session();
    const stream = await browser.fetch(`/v1/sessions/${id}/events`);
    expect(stream.status).toBe(200);
    const others = await client.fetch(`/v1/sessions/${id}/events`);
    const ended = readSse(stream);
    await browser.fetch("/console/sign-out", { method: "POST" });
    const began = Date.now();
    await ended;
    expect(Date.now() - began).toBeLessThan(10_000);
    // The key itself goes on.
    await client.execute(id, "1");
    const seen = await readSse(others, (messages) => messages.length >= 2);
    expect(seen.length).toBeGreaterThanOrEqual(2);
  });
});

describe("revoking the key", () => {
  it("ends the cookie at once, and what it had open", async () => {
    const { browser, key, client } = await signedIn("revoked1");
    const { id } = await client.session();
    const stream = await browser.fetch(`/v1/sessions/${id}/events`);
    const ended = readSse(stream);
    const admin = await Client.of("revoked1", ["admin"]);
    expect((await admin.call("DELETE", `/v1/keys/${key.id}`)).status).toBe(204);
    expect(await status(browser, "/v1/me")).toBe(401);
    const began = Date.now();
    await ended;
    expect(Date.now() - began).toBeLessThan(10_000);
  });

  it("in another place ends it within seconds", async () => {
    const { browser, key } = await signedIn("revoked2");
    expect(await status(browser, "/v1/me")).toBe(200);
    await deleteKey(bindings.DB, key.id);
    await expect.poll(() => status(browser, "/v1/me"), { timeout: 10_000, interval: 200 }).toBe(401);
  });
});

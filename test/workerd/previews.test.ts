import type { Preview, Problem } from "@sandbar/shared";
import { SignJWT } from "jose";
import { beforeEach, describe, expect, it } from "vitest";
import { currentKey } from "../../worker/src/artifacts/signing-keys.ts";
import { forgetKeys } from "../../worker/src/auth.ts";
import { createKey, deleteKey } from "../../worker/src/db/keys.ts";
import { previewToken } from "../../worker/src/tunnel/preview-token.ts";
import { Browser } from "./browser.ts";
import { bindings, Client } from "./client.ts";
import { ORIGIN, onlyHost, worker } from "./fake-daemon.ts";

beforeEach(async () => {
  await onlyHost();
});

const MISSING = "ses_0000000000000000000000000z";
const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;

/** What the door says, of a session that does not exist: 404 is past it. */
async function door(token: string): Promise<string> {
  const answer = await worker.fetch(`${ORIGIN}/preview/${token}/`);
  return (await answer.json<Problem>()).code;
}

describe("a preview", () => {
  it("is made by who may use the session, for an hour at most", async () => {
    const client = await Client.of("pre1");
    const { id } = await client.session();
    const { status, body } = await client.call<Preview>("POST", `/v1/sessions/${id}/ports/8000/preview`);
    expect(status).toBe(201);
    expect(body.url).toMatch(/^https:\/\/sandbar\.test\/preview\/[\w.-]+\/$/);
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(3600_000);
    expect(body.url).not.toContain(client.secret);

    const expires_at = new Date(Date.now() + 60_000).toISOString();
    const brief = await createKey(bindings.DB, { name: "x", tenant: "pre1", scopes: ["agent"], expires_at });
    const short = await new Client(brief.secret).call<Preview>(
      "POST",
      `/v1/sessions/${id}/ports/8000/preview`,
    );
    expect(Date.parse(short.body.expires_at)).toBeLessThanOrEqual(Date.parse(expires_at));
  });

  it("of another tenant's session looks like one of a missing one", async () => {
    const { id } = await (await Client.of("pre2")).session();
    const bob = await Client.of("pre3");
    const foreign = await bob.call<Problem>("POST", `/v1/sessions/${id}/ports/8000/preview`);
    const none = await bob.call<Problem>("POST", `/v1/sessions/${MISSING}/ports/8000/preview`);
    expect(foreign.status).toBe(404);
    expect({ ...foreign.body, request_id: "" }).toEqual({ ...none.body, request_id: "" });
    const operator = await Client.of("pre2", ["operator"]);
    expect((await operator.call("POST", `/v1/sessions/${id}/ports/8000/preview`)).status).toBe(403);
    for (const port of ["0", "65536", "x", "-1", "8000.5"])
      expect((await bob.call("POST", `/v1/sessions/${id}/ports/${port}/preview`)).status, port).toBe(400);
  });

  it("opens for its own token, and for no other", async () => {
    const key = await createKey(bindings.DB, { name: "x", tenant: "pre4", scopes: ["agent"] });
    const of = { session: MISSING, tenant: "pre4", port: 8000, credential: key.id };
    const good = await previewToken(bindings, of, inAnHour());
    expect(await door(good)).toBe("NOT_FOUND");
    const { secret, kid } = await currentKey(bindings);
    const [head, payload, signature] = good.split(".");
    const encode = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
    const claims = JSON.parse(atob(payload!));
    const signed = (audience: string, more: object = {}) =>
      new SignJWT({ tenant: "pre4", port: 8000, credential: key.id, ...more })
        .setProtectedHeader({ alg: "HS256", kid })
        .setSubject(MISSING)
        .setAudience(audience)
        .setExpirationTime(inAnHour())
        .sign(secret);
    const wrong: Record<string, string> = {
      nothing: "x",
      expired: await previewToken(bindings, of, inAnHour() - 3601),
      "alg none": `${encode({ alg: "none", kid })}.${payload}.`,
      "another port": `${head}.${encode({ ...claims, port: 9000 })}.${signature}`,
      "the console's": await signed("console"),
      "an artifact's": await signed("artifact"),
      "a key's of another tenant": await previewToken(bindings, { ...of, tenant: "pre1" }, inAnHour()),
      "without a credential": await signed("preview", { credential: undefined }),
      "a digest for a credential": await signed("preview", { credential: "0".repeat(64) }),
    };
    for (const [what, token] of Object.entries(wrong))
      expect(await door(token), what).toBe("UNAUTHENTICATED");
  });

  it("ends with the key that made it", async () => {
    const key = await createKey(bindings.DB, { name: "x", tenant: "pre5", scopes: ["agent"] });
    const of = { session: MISSING, tenant: "pre5", port: 8000, credential: key.id };
    const token = await previewToken(bindings, of, inAnHour());
    expect(await door(token)).toBe("NOT_FOUND");
    await deleteKey(bindings.DB, key.id);
    forgetKeys();
    expect(await door(token)).toBe("UNAUTHENTICATED");
  });

  it("ends with the browser's session that made it, and with no other", async () => {
    const key = await createKey(bindings.DB, { name: "x", tenant: "pre6", scopes: ["agent"] });
    const { id } = await new Client(key.secret).session();
    const [browser, other] = [new Browser(), new Browser()];
    for (const one of [browser, other]) await one.signIn({ api_key: key.secret });
    const made = async (one: Browser) =>
      new URL((await one.json<Preview>(`/v1/sessions/${id}/ports/8000/preview`, { method: "POST" })).url)
        .pathname;
    const [first, second] = [await made(browser), await made(other)];
    await browser.fetch("/console/sign-out", { method: "POST" });
    expect((await worker.fetch(`${ORIGIN}${first}`)).status).toBe(401);
    await (await Client.of("pre6")).call("DELETE", `/v1/sessions/${id}`);
    expect((await worker.fetch(`${ORIGIN}${second}`)).status).toBe(410);
  });

  it("has a slash at its end, so that its page's links stay below it", async () => {
    const answer = await worker.fetch(`${ORIGIN}/preview/abc?x=1`, { redirect: "manual" });
    expect([answer.status, answer.headers.get("Location")]).toEqual([308, "/preview/abc/?x=1"]);
  });

  it("lets its page, which has no origin, ask its own server", async () => {
    const answer = await worker.fetch(`${ORIGIN}/preview/abc/`, {
      method: "OPTIONS",
      headers: {
        Origin: "null",
        "Access-Control-Request-Method": "PUT",
        "Access-Control-Request-Headers": "x-a",
      },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("Access-Control-Allow-Origin")).toBe("null");
    expect(answer.headers.get("Access-Control-Allow-Methods")).toBe("PUT");
    expect(answer.headers.get("Access-Control-Allow-Headers")).toBe("x-a");
  });
});

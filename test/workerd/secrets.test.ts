import type { Problem, Secret } from "@sandbar/shared";
import { describe, expect, it } from "vitest";
import { secretValues, withoutValues } from "../../worker/src/network/secret-values.ts";
import { bindings, Client } from "./client.ts";

const HOST = "api.example.com";
const list = async (client: Client) =>
  (await client.call<{ data: Secret[] }>("GET", "/v1/secrets")).body.data.map(({ name, hosts }) => ({
    name,
    hosts,
  }));

describe("stored secrets", () => {
  it("go in, are listed without values, sealed in the database, and go", async () => {
    const acme = await Client.of("secrets-a");
    const put = await acme.call<Secret>("PUT", "/v1/secrets/billing", {
      value: "Bearer abc",
      hosts: [HOST.toUpperCase()],
    });
    expect(put.status).toBe(200);
    expect(JSON.stringify(put.body)).not.toContain("abc");
    expect(await list(acme)).toEqual([{ name: "billing", hosts: [HOST] }]);
    const { results } = await bindings.DB.prepare("SELECT * FROM secrets").all<{ sealed: string }>();
    expect(results[0]!.sealed).toMatch(/^aes2:/);
    expect(JSON.stringify(results)).not.toContain("Bearer");
    await acme.call("PUT", "/v1/secrets/billing", { value: "other" });
    expect(await list(acme)).toEqual([{ name: "billing", hosts: [] }]);
    expect((await acme.call("DELETE", "/v1/secrets/billing")).status).toBe(204);
    expect((await acme.call("DELETE", "/v1/secrets/billing")).status).toBe(404);
    expect(await list(acme)).toEqual([]);
  });

  it("belong to their tenant", async () => {
    const [a, b] = [await Client.of("secrets-b"), await Client.of("secrets-c")];
    await a.call("PUT", "/v1/secrets/mine", { value: "x" });
    expect(await list(b)).toEqual([]);
    expect((await b.call("DELETE", "/v1/secrets/mine")).status).toBe(404);
    const network = { secrets: [{ host: HOST, header: "X-Key", secret: "mine" }] };
    const { body } = await b.call<Problem>("POST", "/v1/sessions", { network });
    expect(body).toMatchObject({
      code: "VALIDATION_FAILED",
      detail: expect.stringContaining("no secret is named mine"),
    });
  });

  it("are sent to their hosts only, and are headers that may be", async () => {
    const client = await Client.of("secrets-d");
    await client.call("PUT", "/v1/secrets/one", { value: "x", hosts: [HOST] });
    for (const [secret, words] of [
      [{ host: "evil.example.net", header: "X-Key", secret: "one" }, "may not be sent to evil.example.net"],
      [{ host: HOST, header: "Host", value: "x" }, "not for secrets"],
      [{ host: HOST, header: "X Key", value: "x" }, "a header's name"],
      [{ host: HOST, header: "X-Key", value: "a\r\nB: c" }, "visible ASCII"],
      [{ host: "*.example.com", header: "X-Key", value: "x" }, "one host"],
      [{ host: HOST, header: "X-Key" }, "value or secret"],
      [{ host: HOST, header: "X-Key", value: "x", secret: "one" }, "value or secret"],
    ] as const) {
      const answer = await client.call<Problem>("POST", "/v1/sessions", { network: { secrets: [secret] } });
      expect(answer.status, words).toBe(400);
      expect(JSON.stringify(answer.body)).toContain(words);
    }
    for (const [name, body] of [
      ["UPPER", { value: "x" }],
      ["ok", { value: "" }],
      ["ok", { value: "x", hosts: ["http://a"] }],
    ] as const)
      expect((await client.call<Problem>("PUT", `/v1/secrets/${name}`, body)).body.code).toBe(
        "VALIDATION_FAILED",
      );
  });

  it("are handed out for hosts that they are meant for now, each that can be read", async () => {
    const tenant = "secrets-f";
    const client = await Client.of(tenant);
    const put = (name: string, hosts: string[], value = name) =>
      client.call("PUT", `/v1/secrets/${name}`, { value, hosts });
    await put("one", [HOST]);
    await put("two", []);
    const secrets = [
      { host: HOST, header: "X-One", secret: "one" },
      { host: HOST, header: "X-Two", secret: "two" },
      { host: HOST, header: "X-Own", value: "three" },
    ];
    const { rules, sealed } = await withoutValues(bindings, tenant, { allow: [], secrets });
    const values = async (env = bindings, own = sealed) =>
      (await secretValues(env, tenant, { rules: { ...rules, version: 1 }, sealed: own })).values.map(
        ({ value }) => value,
      );
    expect(await values()).toEqual(["one", "two", "three"]);
    await put("one", ["other.example.com"]);
    expect(await values()).toEqual([null, "two", "three"]);
    await put("one", [HOST.toUpperCase(), "other.example.com"], "new");
    expect(await values()).toEqual(["new", "two", "three"]);
    const { sealed: lost } = await withoutValues({ ...bindings, SECRETS_KEY: "another" }, tenant, {
      allow: [],
      secrets,
    });
    expect(await values(bindings, lost)).toEqual(["new", "two", null]);
    await bindings.DB.prepare("UPDATE secrets SET sealed = 'aes2:0:AA:AA' WHERE tenant = ? AND name = 'two'")
      .bind(tenant)
      .run();
    expect(await values()).toEqual(["new", null, "three"]);
  });

  it("are for daemons' signed requests alone", async () => {
    const client = await Client.of("secrets-e");
    expect((await client.call("POST", "/agent/secrets", { session: "ses_1" })).status).toBe(401);
  });
});

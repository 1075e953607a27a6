/** @module Nobody but the session's own host may bring artifacts, and what it brings is verified. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { exportJWK, generateKeyPair, importJWK, SignJWT } from "jose";
import { beforeAll, expect, it } from "vitest";
import { listed } from "../fixtures/artifacts.ts";
import { sha256 } from "../fixtures/sha256.ts";
import { useStack } from "../fixtures/use-stack.ts";

const { stack, client } = useStack();

let session: string;
let key: Awaited<ReturnType<typeof importJWK>>;

beforeAll(async () => {
  session = (await client.create()).id;
  const identity = JSON.parse(readFileSync(join(stack.home, "host/identity.json"), "utf8"));
  key = await importJWK(identity.private_key, "EdDSA");
});

interface Proof {
  host?: string;
  tenant?: string;
  session?: string;
  method?: string;
  path?: string;
  issued?: number;
  with?: typeof key;
}

function proof(wanted: Proof = {}): Promise<string> {
  const now = wanted.issued ?? Math.floor(Date.now() / 1000);
  return new SignJWT({
    tenant: wanted.tenant ?? "default",
    session: wanted.session ?? session,
    htm: wanted.method ?? "PUT",
    htu: wanted.path ?? "/agent/artifacts",
  })
    .setProtectedHeader({ alg: "EdDSA" })
    .setSubject(wanted.host ?? stack.hostId)
    .setJti(crypto.randomUUID())
    .setIssuedAt(now)
    .setExpirationTime(now + 60)
    .sign(wanted.with ?? key);
}

const file = (bytes: string, digest = sha256(bytes)) => ({
  name: "brought.txt",
  size: bytes.length,
  sha256: digest,
  mime: "text/plain",
  version: "1",
});

async function bring(
  token: string | null,
  bytes: string,
  digest = sha256(bytes),
  of = session,
): Promise<Response> {
  const header = {
    session: of,
    execution: null,
    blobs: [{ sha256: digest, size: bytes.length }],
    files: [file(bytes, digest)],
  };
  return fetch(`${stack.url}/agent/artifacts`, {
    method: "PUT",
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
    body: `${JSON.stringify(header)}\n${bytes}`,
  });
}

it.each<[string, () => Promise<string | null>]>([
  ["no proof", async () => null],
  ["an API key", async () => stack.key],
  [
    "a stranger's key",
    async () => proof({ with: (await generateKeyPair("EdDSA", { crv: "Ed25519" })).privateKey }),
  ],
  ["a proof for another host", () => proof({ host: "hst_00000000000000000000000000" })],
  ["a proof for another method", () => proof({ method: "POST" })],
  ["a proof for another path", () => proof({ path: "/agent/artifacts/check" })],
  ["a proof for another query", () => proof({ path: "/agent/artifacts?part=1" })],
  ["a proof of yesterday", () => proof({ issued: Math.floor(Date.now() / 1000) - 86_400 })],
  ["a proof from the far future", () => proof({ issued: Math.floor(Date.now() / 1000) + 3_600 })],
])("%s opens nothing", async (_, token) => {
  expect((await bring(await token(), "x")).status).toBe(401);
});

it("a proof opens once", async () => {
  const { id } = await client.create();
  const once = await proof({ session: id });
  expect((await bring(once, "once", sha256("once"), id)).status).toBe(200);
  expect((await bring(once, "twice", sha256("twice"), id)).status).toBe(401);
  expect(await listed(client, id)).toMatchObject([{ sha256: sha256("once") }]);
  await client.stop(id);
});

it("a session of another tenant, or of nobody, is not this host's", async () => {
  expect((await bring(await proof({ tenant: "other" }), "x")).status).toBe(404);
  const nobodys = "ses_00000000000000000000000000";
  expect((await bring(await proof({ session: nobodys }), "x", sha256("x"), nobodys)).status).toBe(404);
});

it("a host that joined later cannot speak for the session", async () => {
  const { token } = await client.ok<{ token: string }>("POST", "/v1/hosts/enrollments");
  const { publicKey, privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  const { host_id } = (await (
    await fetch(`${stack.url}/agent/join`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ token, name: "second", public_key: await exportJWK(publicKey) }),
    })
  ).json()) as { host_id: string };
  expect((await bring(await proof({ host: host_id, with: privateKey }), "x")).status).toBe(404);
});

it("a proof for one session does not serve another", async () => {
  const other = (await client.create()).id;
  expect((await bring(await proof(), "x", sha256("x"), other)).status).toBe(401);
  await client.stop(other);
});

it("bytes that are not what they claim to be are refused, and nothing is recorded", async () => {
  const answer = await bring(await proof(), "these bytes", sha256("other bytes"));
  expect(answer.status).toBe(400);
  const path = `/agent/blobs/${sha256("other bytes")}`;
  const blob = await fetch(`${stack.url}${path}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${await proof({ path })}` },
    body: "these bytes",
  });
  expect(blob.status).toBe(400);
  expect(await listed(client, session)).toEqual([]);
});

it.each(["", "no newline", "{}\n", '{"session": 1}\n', `${"x".repeat(100)}\n`])(
  "the bundle %j is refused",
  async (body) => {
    const answer = await fetch(`${stack.url}/agent/artifacts`, {
      method: "PUT",
      headers: { authorization: `Bearer ${await proof()}` },
      body,
    });
    expect(answer.status).toBe(400);
  },
);

it("an upload of another tenant cannot be finished or added to", async () => {
  const finish = "/agent/uploads/finish";
  const answer = await fetch(`${stack.url}${finish}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${await proof({ method: "POST", path: finish })}`,
      "content-type": "application/json",
    },
    body: JSON.stringify({
      session,
      sha256: sha256("x"),
      size: 1,
      upload: "u",
      key: `blobs/other/${sha256("x")}/1`,
      parts: [],
    }),
  });
  expect(answer.status).toBe(404);
});

it("what the host brings with a good proof is recorded once", async () => {
  for (let i = 0; i < 2; i++) expect((await bring(await proof(), "good bytes")).status).toBe(200);
  expect((await listed(client, session)).map(({ name }) => name)).toEqual(["brought.txt"]);
});

it("a host that was away while its session ended still brings what it saved", async () => {
  const { id } = await client.create();
  await client.stop(id);
  expect((await client.ok<{ status: string }>("GET", `/v1/sessions/${id}`)).status).toBe("stopped");
  const answer = await bring(await proof({ session: id }), "saved late", sha256("saved late"), id);
  expect(answer.status).toBe(200);
  expect(await listed(client, id)).toMatchObject([{ name: "brought.txt", sha256: sha256("saved late") }]);
});

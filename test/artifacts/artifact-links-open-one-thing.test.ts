/** @module A link opens one artifact, for reading, for a while; what it serves can run nothing on our origin. */
import type { Artifact } from "@sandbar/shared";
import { beforeAll, expect, it } from "vitest";

import { sha256 } from "../fixtures/sha256.ts";
import { eventually } from "../fixtures/stack.ts";
import { useStack } from "../fixtures/use-stack.ts";

const A = "/session/artifacts";
const { stack, client } = useStack({
  vars: { SIGNING_KEY_MAX_AGE_S: "3" },
  serverEnv: { SANDBAR_CRON_MS: "500" },
});
let session: string;
let text: Artifact;
let page: Artifact;
beforeAll(async () => {
  session = (await client.create()).id;
  const { artifacts } = await client.run(
    session,
    `open("${A}/a.txt", "w").write("0123456789"); open("${A}/b.html", "w").write("<script>alert(1)</script>")`,
  );
  text = artifacts.find(({ name }) => name === "a.txt")!;
  page = artifacts.find(({ name }) => name === "b.html")!;
});

const get = (url: string, headers: Record<string, string> = {}, method = "GET") =>
  fetch(url, { headers, method });
const problemOf = async (answer: Response) => ((await answer.json()) as { code: string }).code;

async function link(artifact: Artifact, expires_in_s?: number) {
  return client.ok<{ url: string; expires_at: string }>("POST", `/v1/artifacts/${artifact.id}/link`, {
    ...(expires_in_s === undefined ? {} : { expires_in_s }),
  });
}

it("serves the bytes with their hash, size and name", async () => {
  const answer = await get(text.url);
  expect(answer.status).toBe(200);
  expect(await answer.text()).toBe("0123456789");
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    etag: `"${sha256("0123456789")}"`,
    "content-length": "10",
    "content-type": "text/plain; charset=utf-8",
    "content-disposition": `attachment; filename="a.txt"; filename*=UTF-8''a.txt`,
    "x-content-type-options": "nosniff",
    "accept-ranges": "bytes",
    "cache-control": expect.stringContaining("private"),
  });
});

it("gives the bytes to a key of the tenant, whole or in part, and to nobody else", async () => {
  const content = `${stack.url}/v1/artifacts/${page.id}/content`;
  const key = { authorization: `Bearer ${stack.key}` };
  const part = await get(content, { ...key, range: "bytes=1-6" });
  expect([part.status, await part.text()]).toEqual([206, "script"]);
  // A cookie would count here, so nothing of it may run on this origin.
  expect(part.headers.get("content-security-policy")).toContain("sandbox");
  expect(part.headers.get("content-disposition")).toContain("attachment");
  const stranger = await stack.clientOf("stranger");
  expect((await stranger.call("GET", `/v1/artifacts/${page.id}/content`)).status).toBe(404);
  expect((await get(content)).status).toBe(401);
});

it("answers HEAD with the same headers and no body", async () => {
  const answer = await get(text.url, {}, "HEAD");
  expect([answer.status, answer.headers.get("content-length"), await answer.text()]).toEqual([200, "10", ""]);
  const ranged = await get(text.url, { range: "bytes=0-3" }, "HEAD");
  expect([ranged.status, ranged.headers.get("content-length"), ranged.headers.get("content-range")]).toEqual([
    200,
    "10",
    null,
  ]);
});

it.each([
  ["bytes=0-3", 206, "0123", "bytes 0-3/10"],
  ["bytes=7-", 206, "789", "bytes 7-9/10"],
  ["bytes=-2", 206, "89", "bytes 8-9/10"],
  ["bytes=5-100", 206, "56789", "bytes 5-9/10"],
  ["bytes=0-1,4-5", 200, "0123456789", null],
  ["lines=1-2", 200, "0123456789", null],
])("Range %s answers %i", async (range, status, body, contentRange) => {
  const answer = await get(text.url, { range });
  expect([answer.status, await answer.text(), answer.headers.get("content-range")]).toEqual([
    status,
    body,
    contentRange,
  ]);
});

it("a range outside of the content is a 416 that says the size", async () => {
  const answer = await get(text.url, { range: "bytes=10-" });
  expect([answer.status, answer.headers.get("content-range")]).toEqual([416, "bytes */10"]);
  expect(await answer.json()).toMatchObject({ code: "RANGE_NOT_SATISFIABLE" });
});

it("revalidates by ETag, and gives everything when If-Range is stale", async () => {
  const etag = `"${text.sha256}"`;
  const fresh = await get(text.url, { "if-none-match": `"x", W/${etag}` });
  expect([fresh.status, await fresh.text(), fresh.headers.get("etag")]).toEqual([304, "", etag]);
  expect((await get(text.url, { "if-none-match": '"other"' })).status).toBe(200);
  expect((await get(text.url, { range: "bytes=0-0", "if-range": '"old"' })).status).toBe(200);
  expect((await get(text.url, { range: "bytes=0-0", "if-range": etag })).status).toBe(206);
});

it("active content is a download that could run nothing", async () => {
  const answer = await get(page.url);
  expect(await answer.text()).toBe("<script>alert(1)</script>");
  expect(answer.headers.get("content-disposition")).toMatch(/^attachment;/);
  expect(answer.headers.get("content-security-policy")).toContain("sandbox");
  expect(answer.headers.get("x-content-type-options")).toBe("nosniff");
  const { artifacts } = await client.run(session, `open("${A}/c.js", "w").write("alert(1)")`);
  expect((await get(artifacts[0]!.url)).headers.get("content-type")).toMatch(/^text\/plain/);
});

it("names of any kind arrive as they are", async () => {
  const name = 'd/naïve "quoted" 100%\r\nX-Evil: 1 \u202e.txt';
  const { artifacts } = await client.run(
    session,
    `import os, json
p = "${A}/" + json.loads(${JSON.stringify(JSON.stringify(name))}); os.makedirs(os.path.dirname(p), exist_ok=True); open(p, "w").write("x")`,
  );
  const answer = await get(artifacts[0]!.url);
  expect(answer.headers.get("x-evil")).toBeNull();
  const encoded = /filename\*=UTF-8''(\S+)$/.exec(answer.headers.get("content-disposition")!)![1]!;
  expect(decodeURIComponent(encoded)).toBe(name.slice(2));
});

it("expires when it says, and lives as long as was asked for", async () => {
  const { url, expires_at } = await link(text, 1);
  expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(1000);
  expect((await get(url)).status).toBe(200);
  await eventually("expired", 5_000, async () => (await get(url)).status === 403);
  const ten = await link(text);
  expect(Math.round((Date.parse(ten.expires_at) - Date.now()) / 60_000)).toBe(10);
  const week = await link(text, 7 * 24 * 3600);
  expect(Date.parse(week.expires_at) - Date.now()).toBeGreaterThan(6.9 * 24 * 3600_000);
  expect(
    (await client.problem("POST", `/v1/artifacts/${text.id}/link`, { expires_in_s: 604_801 })).status,
  ).toBe(400);
});

it("needs no body to be made", async () => {
  const answer = await client.call<{ url: string }>("POST", `/v1/artifacts/${text.id}/link`);
  expect(answer.status).toBe(200);
  expect((await get(answer.body.url)).status).toBe(200);
});

it("opens nothing else: not another artifact, not when tampered with, not without its token", async () => {
  const token = new URL(text.url).searchParams.get("token")!;
  const [head, , signature] = token.split(".");
  const forged = Buffer.from(
    JSON.stringify({ tenant: "default", method: "GET", sub: page.id, aud: "artifact", exp: 4102444800 }),
  ).toString("base64url");
  const none = Buffer.from(JSON.stringify({ alg: "none" })).toString("base64url");
  for (const url of [
    `${stack.url}/artifacts/${page.id}?token=${token}`,
    `${stack.url}/artifacts/${page.id}?token=${head}.${forged}.${signature}`,
    `${stack.url}/artifacts/${page.id}?token=${none}.${forged}.`,
    `${stack.url}/artifacts/${text.id}?token=${token.slice(0, -2)}`,
    `${stack.url}/artifacts/${text.id}?token=`,
    `${stack.url}/artifacts/${text.id}`,
  ]) {
    const answer = await get(url);
    expect([answer.status, await problemOf(answer)]).toEqual([403, "LINK_INVALID"]);
  }
  expect((await get(text.url, {}, "DELETE")).status).toBe(405);
});

it("another tenant sees neither the artifact nor a way to a link", async () => {
  const stranger = await stack.clientOf("other");
  for (const [method, path] of [
    ["GET", `/v1/artifacts/${text.id}`],
    ["DELETE", `/v1/artifacts/${text.id}`],
    ["POST", `/v1/artifacts/${text.id}/link`],
    ["GET", `/v1/sessions/${session}/artifacts`],
  ] as const) {
    const missing = path
      .replace(text.id, "art_00000000000000000000000000")
      .replace(session, "ses_00000000000000000000000000");
    const [theirs, nobodys] = [
      await stranger.problem(method, path, method === "POST" ? {} : undefined),
      await stranger.problem(method, missing, method === "POST" ? {} : undefined),
    ];
    expect(theirs.status).toBe(404);
    expect({ ...theirs.body, request_id: "" }).toEqual({ ...nobodys.body, request_id: "" });
  }
  expect(await stranger.ok("GET", "/v1/artifacts")).toEqual({ data: [], next_cursor: null });
});

it("links of a key that was replaced stay good, and new ones carry the new key", async () => {
  const kid = (url: string) =>
    JSON.parse(Buffer.from(new URL(url).searchParams.get("token")!.split(".")[0]!, "base64url").toString())
      .kid;
  const before = (await link(text)).url;
  await eventually("rotated", 15_000, async () => kid((await link(text)).url) !== kid(before));
  expect((await get(before)).status).toBe(200);
});

it("lists are filtered and paged", async () => {
  const byName = await client.ok<{ data: Artifact[] }>("GET", "/v1/artifacts?name=a.txt");
  expect(byName.data.map(({ id }) => id)).toEqual([text.id]);
  const first = await client.ok<{ data: Artifact[]; next_cursor: string }>("GET", "/v1/artifacts?limit=1");
  const second = await client.ok<{ data: Artifact[] }>(
    "GET",
    `/v1/artifacts?limit=1&cursor=${first.next_cursor}`,
  );
  expect(first.data[0]!.id > second.data[0]!.id).toBe(true);
});

it("the signing key is kept: a link survives a restart of the control plane", async () => {
  const { url } = await link(text);
  await stack.killServer("SIGTERM");
  await stack.startServer();
  expect((await get(url)).status).toBe(200);
});

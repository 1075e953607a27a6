import type { StartUploadAnswer } from "@sandbar/shared";
import { expect, it } from "vitest";
import { sha256Hex } from "../../worker/src/tokens.ts";
import { bindings, Client } from "./client.ts";
import { onlyHost } from "./fake-daemon.ts";

it("an upload is its session's: another one of the same tenant and host neither adds to it, nor ends it", async () => {
  const host = await onlyHost();
  const client = await Client.of("uploads");
  const [own, other] = [(await client.session()).id, (await client.session()).id];
  const content = "the report";
  const sha256 = await sha256Hex(content);
  const bytes = new TextEncoder().encode(content);
  const post = (session: string, path: string, body: object) =>
    host.signed("uploads", session, "POST", path, { session, ...body });
  const begun = await post(own, "/agent/uploads", { sha256, size: bytes.length });
  const { upload, key } = await begun.json<StartUploadAnswer>();
  const part = (session: string, more: object = {}) =>
    host.signed(
      "uploads",
      session,
      "PUT",
      `/agent/uploads/parts?${new URLSearchParams({ key, upload, part: "1", ...more })}`,
      bytes,
    );
  const missing = `${key.slice(0, -1)}${key.endsWith("0") ? "1" : "0"}`;
  expect((await part(other)).status).toBe(404);
  expect((await part(own, { key: missing })).status).toBe(404);
  expect((await part(own, { upload: upload.split(".")[1]! })).status).toBe(404);
  const { etag } = await (await part(own)).json<{ etag: string }>();
  const finish = { sha256, size: bytes.length, key, upload, parts: [{ part: 1, etag }] };
  expect((await post(other, "/agent/uploads/abort", { key, upload })).status).toBe(404);
  expect((await post(other, "/agent/uploads/finish", finish)).status).toBe(404);
  expect((await post(own, "/agent/uploads/finish", finish)).status).toBe(204);
  const stored = await bindings.DB.prepare("SELECT size FROM blobs WHERE tenant = 'uploads' AND sha256 = ?")
    .bind(sha256)
    .first<number>("size");
  expect(stored).toBe(bytes.length);
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Request } from "miniflare";
import { afterAll, beforeAll, expect, it } from "vitest";
import { serveAsset } from "./assets.ts";

const root = mkdtempSync(join(tmpdir(), "assets-"));
const folder = join(root, "assets");

beforeAll(() => {
  mkdirSync(join(folder, "assets"), { recursive: true });
  writeFileSync(join(folder, "index.html"), "<p>page</p>");
  writeFileSync(join(folder, "assets/a.js"), "1");
  writeFileSync(join(folder, "a.png"), "png");
  writeFileSync(join(root, "secret.txt"), "secret");
});
afterAll(() => rmSync(root, { recursive: true }));

const get = (path: string, headers: Record<string, string> = {}) =>
  serveAsset(folder, new Request(`http://127.0.0.1${path}`, { headers }));

it("serves files by their type, and a folder's index", async () => {
  const page = await get("/");
  expect([page.status, page.headers.get("Content-Type"), await page.text()]).toEqual([
    200,
    "text/html; charset=utf-8",
    "<p>page</p>",
  ]);
  expect((await get("/assets/a.js")).headers.get("Content-Type")).toBe("text/javascript; charset=utf-8");
});

it("compresses text for whoever takes it", async () => {
  const takes = { "Accept-Encoding": "br, gzip" };
  expect((await get("/assets/a.js", takes)).headers.get("Content-Encoding")).toBe("gzip");
  expect((await get("/a.png", takes)).headers.get("Content-Encoding")).toBeNull();
  expect((await get("/assets/a.js")).headers.get("Content-Encoding")).toBeNull();
});

it("says that nothing has changed", async () => {
  const etag = (await get("/a.png")).headers.get("ETag")!;
  expect((await get("/a.png", { "If-None-Match": etag })).status).toBe(304);
  expect((await get("/a.png", { "If-None-Match": '"other"' })).status).toBe(200);
});

it("serves nothing outside, no folder, and no name that cannot be read", async () => {
  for (const path of [
    "/../secret.txt",
    "/%2e%2e/secret.txt",
    "/..%2fsecret.txt",
    "/assets",
    "/%ff",
    "/%00",
    "/none",
  ])
    expect((await get(path)).status, path).toBe(404);
});

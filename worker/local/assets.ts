/** @module The static files that Cloudflare serves through the ASSETS binding. */
import { readFile } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { Response } from "miniflare";

const TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".woff2": "font/woff2",
};

export async function serveAsset(folder: string, path: string): Promise<Response> {
  const file = join(folder, normalize(`/${decodeURIComponent(path)}`));
  try {
    const headers = { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" };
    return new Response(await readFile(file), { headers });
  } catch {
    return new Response("Not found", { status: 404 });
  }
}

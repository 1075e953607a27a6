/** @module The static files that Cloudflare serves through the ASSETS binding. */
import { readFile, stat } from "node:fs/promises";
import { extname, join, normalize } from "node:path";
import { type Request, Response } from "miniflare";

const TYPES: Record<string, string> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json",
  ".map": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".ttf": "font/ttf",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json",
  ".woff": "font/woff",
  ".woff2": "font/woff2",
};
const COMPRESSIBLE = new Set([".css", ".html", ".js", ".json", ".map", ".svg", ".ttf", ".txt", ".wasm"]);

export async function serveAsset(folder: string, request: Request): Promise<Response> {
  try {
    const path = normalize(`/${decodeURIComponent(new URL(request.url).pathname)}`);
    const file = join(folder, path.endsWith("/") ? `${path}index.html` : path);
    const { mtimeMs, size } = await stat(file);
    const etag = `W/"${size.toString(36)}-${Math.floor(mtimeMs).toString(36)}"`;
    const extension = extname(file);
    const headers: Record<string, string> = {
      ETag: etag,
      Vary: "Accept-Encoding",
      "Content-Type": TYPES[extension] ?? "application/octet-stream",
    };
    if (request.headers.get("If-None-Match") === etag) return new Response(null, { status: 304, headers });
    // Miniflare compresses what says that it is.
    if (COMPRESSIBLE.has(extension) && /\bgzip\b/.test(request.headers.get("Accept-Encoding") ?? ""))
      headers["Content-Encoding"] = "gzip";
    return new Response(await readFile(file), { headers });
  } catch {
    return new Response("Not found", { status: 404 });
  }
}

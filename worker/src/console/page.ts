/**
 * The console's page and its files. Asked only for paths that are nothing else, so that the API does not pay for it.
 *
 * @module
 */
import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { newSecret } from "../tokens.ts";
import { ownOrigin } from "./own-origin.ts";

/** Paths of the API and its neighbours: a wrong one is an error there, not a room of the console. */
const NOT_OURS =
  /^\/((v1|agent|mcp|docs|preview|console|metrics|healthz|openapi\.json|\.well-known)(\/|$)|artifacts\/)/;
const HASHED = "/assets/";

/** What the page and its files have in common with `/docs`. */
export const PAGE_HEADERS = {
  "Referrer-Policy": "same-origin",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Permissions-Policy": "camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()",
} as const;

/** The console's answer to this path, or null when it has none. */
export async function consoleAnswer(c: Context<AppEnv>): Promise<Response | null> {
  const { path, method } = c.req;
  if ((method !== "GET" && method !== "HEAD") || NOT_OURS.test(path)) return null;
  if (path.startsWith(HASHED)) return file(c, "public, max-age=31536000, immutable");
  if (/\.[^/.]+$/.test(path)) {
    const found = await file(c, "public, max-age=3600");
    if (found) return found;
  }
  const wanted = path === "/" || /\btext\/html\b/i.test(c.req.header("Accept") ?? "");
  return wanted ? page(c) : null;
}

async function file(c: Context<AppEnv>, cacheControl: string): Promise<Response | null> {
  const headers = new Headers();
  for (const name of ["Accept-Encoding", "If-None-Match"]) {
    const value = c.req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  const found = await c.env.ASSETS.fetch(new URL(c.req.path, c.req.url), { headers });
  // Also where Cloudflare would lead elsewhere: from /index.html to /.
  if (found.status !== 200 && found.status !== 304) {
    await found.body?.cancel();
    return null;
  }
  const answer = new Response(found.body, found);
  answer.headers.set("Cache-Control", cacheControl);
  for (const [name, value] of Object.entries(PAGE_HEADERS)) answer.headers.set(name, value);
  return answer;
}

async function page(c: Context<AppEnv>): Promise<Response | null> {
  const found = await c.env.ASSETS.fetch(new URL("/", c.req.url));
  if (found.status !== 200) {
    await found.body?.cancel();
    return null;
  }
  const nonce = newSecret("");
  return c.html(withNonce(await found.text(), nonce), 200, {
    ...PAGE_HEADERS,
    "Content-Security-Policy": policy(ownOrigin(c.env, c.req.raw), nonce),
    "Cache-Control": "no-store",
  });
}

/** The build's own tags get it, and by the first one scripts find it, for libraries that make style elements. */
function withNonce(html: string, nonce: string): string {
  return html
    .replace(/<(script|style|link)\b/g, `<$1 nonce="${nonce}"`)
    .replace(/<head[^>]*>/, (head) => `${head}<meta property="csp-nonce" nonce="${nonce}">`);
}

/**
 * Scripts come from the build alone: files of sessions have this origin too, so `'self'` would be too wide. Style
 * attributes are open, style elements are not.
 */
function policy(origin: string, nonce: string): string {
  const built = `'nonce-${nonce}' ${origin}${HASHED}`;
  return [
    "default-src 'self'",
    `script-src ${built}`,
    `style-src ${built}`,
    "style-src-attr 'unsafe-inline'",
    `connect-src 'self' ${origin.replace(/^http/, "ws")}`,
    "img-src 'self' data: blob:",
    "media-src 'self' data: blob:",
    "font-src 'self' data:",
    "frame-src 'self' blob:",
    `worker-src ${origin}${HASHED}`,
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

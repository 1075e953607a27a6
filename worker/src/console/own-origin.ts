/**
 * Which pages may use the console's cookie: those of the origin that serves it, and no others. Behind a proxy that ends
 * TLS the Worker sees plain HTTP; CONSOLE_ORIGIN says what the browser sees.
 *
 * @module
 */
import { SandbarError } from "@sandbar/shared";
import type { Env } from "../env.ts";

const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS"]);

export function ownOrigin({ CONSOLE_ORIGIN }: Pick<Env, "CONSOLE_ORIGIN">, request: Request): string {
  const url = new URL(request.url);
  const outside = CONSOLE_ORIGIN && URL.canParse(CONSOLE_ORIGIN) ? new URL(CONSOLE_ORIGIN) : null;
  return outside?.host === url.host ? outside.origin : url.origin;
}

/** Throws when another page than the console's asked, or may have asked. */
export function requireOwnPage(env: Pick<Env, "CONSOLE_ORIGIN">, request: Request): void {
  const own = ownOrigin(env, request);
  const origin = request.headers.get("Origin");
  if (origin === null && mayChange(request))
    throw new SandbarError(
      "ORIGIN_NOT_ALLOWED",
      "The console's cookie changes nothing without an Origin header",
    );
  if (origin !== null && origin !== own)
    throw new SandbarError("ORIGIN_NOT_ALLOWED", `The origin ${origin.slice(0, 200)} is not ${own}`);
  // Browsers say it of every request to HTTPS and to this machine; a page with an opaque origin is `cross-site`.
  const site = request.headers.get("Sec-Fetch-Site");
  if (site !== null && site !== "same-origin" && site !== "none")
    throw new SandbarError("ORIGIN_NOT_ALLOWED", "Another page's request has no use of the console's cookie");
}

function mayChange({ method, headers }: Request): boolean {
  return !SAFE_METHODS.has(method) || headers.has("Upgrade");
}

/**
 * The console's cookie: a token that names a row in D1, and no key. Whoever signs out deletes the row.
 *
 * @module
 */
import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import type { AppEnv } from "../app-env.ts";
import type { ConsoleSession } from "../db/console.ts";
import { openToken, signedToken } from "../signed-token.ts";
import { ownOrigin } from "./own-origin.ts";

const AUDIENCE = "console";

/** Browsers share cookies among all ports of a host, so each port has a name of its own. */
function nameOf(origin: string): string {
  const { protocol, port } = new URL(origin);
  return `${protocol === "https:" ? "__Host-" : ""}sandbar${port ? `-${port}` : ""}`;
}

const placeOf = (c: Context<AppEnv>) => {
  const origin = ownOrigin(c.env, c.req.raw);
  return { name: nameOf(origin), secure: origin.startsWith("https:") };
};

export async function giveCookie(
  c: Context<AppEnv>,
  { id, key_id, expires_at }: ConsoleSession,
): Promise<void> {
  const { name, secure } = placeOf(c);
  const expires = new Date(expires_at);
  const seconds = Math.floor(expires.getTime() / 1000);
  const token = await signedToken(c.env, { audience: AUDIENCE, subject: id }, { key: key_id }, seconds);
  setCookie(c, name, token, { path: "/", httpOnly: true, sameSite: "Strict", secure, expires });
}

export function takeCookie(c: Context<AppEnv>): void {
  const { name, secure } = placeOf(c);
  deleteCookie(c, name, { path: "/", httpOnly: true, sameSite: "Strict", secure });
}

export function hasCookie(c: Context<AppEnv>): boolean {
  return c.req.header("Cookie")?.includes("sandbar") === true && getCookie(c, placeOf(c).name) !== undefined;
}

/** The id of the browser's session; null when the cookie is not ours, or over. */
export async function sessionInCookie(c: Context<AppEnv>): Promise<string | null> {
  const token = getCookie(c, placeOf(c).name);
  if (token === undefined) return null;
  return (await openToken(c.env, token, { audience: AUDIENCE }))?.sub ?? null;
}

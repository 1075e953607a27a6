/** @module `/console/*` and `/v1/me`: browsers that sign in and out, and who a caller is. */
import { createRoute } from "@hono/zod-openapi";
import { ConsoleLinkSchema, MeSchema, SandbarError, type SignIn, SignInSchema } from "@sandbar/shared";
import { forgetKeys, hasExpired, keyOfSecret } from "../auth.ts";
import { giveCookie, sessionInCookie, takeCookie } from "../console/cookie.ts";
import { framePage } from "../console/frame.ts";
import { ownOrigin, requireOwnPage } from "../console/own-origin.ts";
import { wrongGuess } from "../console/wrong-guess.ts";
import { addConsoleCode, addConsoleSession, endConsoleSession, redeemConsoleCode } from "../db/console.ts";
import { findKeyById, type KeyRow } from "../db/keys.ts";
import { type App, body, json, refused, secured } from "../openapi.ts";

const COOKIE_LIFE_MS = 12 * 3600_000;
const CODE_LIFE_MS = 10 * 60_000;
const NOT_KEPT = { "Cache-Control": "no-store" };

export function consoleRoutes(app: App): void {
  app.openapi(
    createRoute({
      method: "get",
      path: "/v1/me",
      tags: ["console"],
      summary: "Who calls",
      description:
        "The caller's tenant, key and scopes, and whether a key, the console's cookie or a session's token says so.",
      security: secured,
      responses: { 200: json(MeSchema, "The caller"), ...refused },
    }),
    (c) => {
      const { tenant, key_id, key_name, scopes, expires_at, via, grant } = c.get("caller");
      const key = { id: key_id, name: key_name };
      const me = { tenant, key, scopes: [...scopes], expires_at, via, ...(grant ? { token: grant } : {}) };
      return c.json(me, 200, NOT_KEPT);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/v1/console/codes",
      tags: ["console"],
      summary: "Make a link that signs a browser in",
      description:
        "The link works once, within 10 minutes, and stands for the key that made it. It needs a key: a browser that has signed in " +
        "cannot make its stay longer.",
      security: secured,
      responses: { 201: json(ConsoleLinkSchema, "The link"), ...refused },
    }),
    async (c) => {
      const { key_id, via } = c.get("caller");
      if (via !== "key")
        throw new SandbarError("FORBIDDEN", "This needs an API key, not the console's cookie");
      const { code, expires_at } = await addConsoleCode(c.env.DB, key_id, CODE_LIFE_MS);
      const url = `${ownOrigin(c.env, c.req.raw)}/sign-in#${code}`;
      return c.json({ url, code, expires_at }, 201, NOT_KEPT);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/console/sign-in",
      tags: ["console"],
      summary: "Sign a browser in",
      description:
        "With an API key, or with the code of a link. The answer sets a cookie of 12 hours at most, `HttpOnly` and `SameSite=Strict`, " +
        "which stands for the key wherever the API takes one. Only the console's own pages may ask: `Origin` must be this origin.",
      request: { body: body(SignInSchema) },
      responses: { 204: { description: "Signed in" }, ...refused },
    }),
    async (c) => {
      requireOwnPage(c.env, c.req.raw);
      const key = await keyOf(c.env.DB, c.req.valid("json"));
      // A browser that signs in again has no use of what it had.
      const before = await sessionInCookie(c);
      if (before !== null) await endConsoleSession(c.env.DB, before);
      c.set("audit", { by: { tenant: key.tenant, key_id: key.id } });
      await giveCookie(c, await addConsoleSession(c.env.DB, key, COOKIE_LIFE_MS));
      return c.body(null, 204, NOT_KEPT);
    },
  );

  app.openapi(
    createRoute({
      method: "post",
      path: "/console/sign-out",
      tags: ["console"],
      summary: "Sign a browser out",
      description:
        "Its cookie is worth nothing from now on, in other places than this within seconds. What it has open ends: streams, " +
        "terminals, transfers, previews.",
      responses: { 204: { description: "Signed out" }, ...refused },
    }),
    async (c) => {
      requireOwnPage(c.env, c.req.raw);
      const session = await sessionInCookie(c);
      if (session !== null) {
        await endConsoleSession(c.env.DB, session);
        forgetKeys();
      }
      takeCookie(c);
      return c.body(null, 204, NOT_KEPT);
    },
  );

  app.get("/console/frame", framePage);
}

async function keyOf(d1: D1Database, given: SignIn): Promise<KeyRow> {
  if ("code" in given) {
    const id = await redeemConsoleCode(d1, given.code);
    const key = id && (await findKeyById(d1, id));
    return key && !hasExpired(key) ? key : wrongGuess("The link was used already, or has expired");
  }
  const key = await keyOfSecret(d1, given.api_key.trim());
  if (!key) return wrongGuess("The API key is not known");
  return hasExpired(key) ? wrongGuess("The API key has expired") : key;
}

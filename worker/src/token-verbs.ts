/**
 * What a session's token may ask for. Whatever does not stand here is for keys: a route that is new is closed to tokens
 * until somebody says which verb it takes.
 *
 * @module
 */
import { SandbarError, type TokenVerb } from "@sandbar/shared";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "./app-env.ts";

const SESSION = "/v1/sessions/:id";
const PORT = `ALL ${SESSION}/ports/:port`;

/** Any of them will do. An empty list: any token. */
export const VERBS: Record<string, readonly TokenVerb[]> = {
  [`GET ${SESSION}`]: [],
  [`GET ${SESSION}/events`]: [],
  [`GET ${SESSION}/executions`]: ["read", "run"],
  [`POST ${SESSION}/executions`]: ["run"],
  [`GET ${SESSION}/executions/:eid`]: ["read", "run"],
  [`GET ${SESSION}/executions/:eid/events`]: ["read", "run"],
  [`POST ${SESSION}/executions/:eid/interrupt`]: ["run"],
  [`POST ${SESSION}/complete`]: ["run"],
  [`GET ${SESSION}/state`]: ["read", "run"],
  [`GET ${SESSION}/contexts`]: ["read", "run"],
  [`POST ${SESSION}/contexts`]: ["run"],
  [`DELETE ${SESSION}/contexts/:cid`]: ["run"],
  [`POST ${SESSION}/contexts/:cid/restart`]: ["run"],
  [`GET ${SESSION}/metrics`]: ["read", "run"],
  [`GET ${SESSION}/network`]: ["read"],
  [`GET ${SESSION}/artifacts`]: ["read", "run", "files"],
  [`GET ${SESSION}/files`]: ["files"],
  [`PUT ${SESSION}/files`]: ["files"],
  [`DELETE ${SESSION}/files`]: ["files"],
  [`GET ${SESSION}/files/list`]: ["files"],
  [`GET ${SESSION}/files/stat`]: ["files"],
  [`POST ${SESSION}/files/mkdir`]: ["files"],
  [`POST ${SESSION}/files/move`]: ["files"],
  [`GET ${SESSION}/files/watch`]: ["files"],
  [`POST ${SESSION}/import`]: ["files"],
  [`POST ${SESSION}/export`]: ["files"],
  [`GET ${SESSION}/datasets`]: ["read", "files"],
  [`PUT ${SESSION}/datasets/:dataset`]: ["files"],
  [`DELETE ${SESSION}/datasets/:dataset`]: ["files"],
  [`POST ${SESSION}/datasets/:dataset/export`]: ["files"],
  [`GET ${SESSION}/processes`]: ["read", "run", "terminal"],
  [`POST ${SESSION}/processes`]: ["run"],
  [`GET ${SESSION}/processes/:pid`]: ["read", "run", "terminal"],
  [`DELETE ${SESSION}/processes/:pid`]: ["run"],
  [`GET ${SESSION}/processes/:pid/events`]: ["read", "run", "terminal"],
  [`POST ${SESSION}/processes/:pid/stdin`]: ["run", "terminal"],
  [`POST ${SESSION}/processes/:pid/signal`]: ["run"],
  [`POST ${SESSION}/processes/:pid/resize`]: ["run", "terminal"],
  [`GET ${SESSION}/terminal`]: ["terminal"],
  [`GET ${SESSION}/ports`]: ["ports", "read"],
  [PORT]: ["ports"],
  [`${PORT}/*`]: ["ports"],
  [`POST ${SESSION}/ports/:port/preview`]: ["ports"],
  "GET /v1/me": [],
  // Their handlers look whether the artifact is of the token's session.
  "GET /v1/artifacts": ["read", "run", "files"],
  "GET /v1/artifacts/:id": ["read", "run", "files"],
  "GET /v1/artifacts/:id/content": ["read", "run", "files"],
  "POST /v1/artifacts/:id/link": ["read", "run", "files"],
};

/** Keeps a token to its session and its verbs. */
export const withinGrant = createMiddleware<AppEnv>(async (c, next) => {
  const { grant } = c.get("caller");
  if (grant === null) return next();
  const session = /^\/v1\/sessions\/([^/]+)/.exec(c.req.path)?.[1];
  // As another tenant's: that there is one is nobody's business.
  if (session !== undefined && session !== grant.session_id)
    throw new SandbarError("NOT_FOUND", "No such session");
  const { method, path } = matchedRoutes(c).at(-1)!;
  const verbs = VERBS[`${method} ${path}`];
  if (!verbs)
    throw new SandbarError(
      "FORBIDDEN_BY_TOKEN",
      "This needs an API key; a session's token is for one session, and not to make, share or end it",
    );
  if (verbs.length > 0 && !verbs.some((verb) => grant.verbs.includes(verb)))
    throw new SandbarError(
      "FORBIDDEN_BY_TOKEN",
      `This needs a token with the verb ${verbs.join(" or ")}; this one has ${grant.verbs.join(" and ")}`,
    );
  return next();
});

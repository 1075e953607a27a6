/** @module What requests leave in the audit log. Nothing waits for it. */
import { waitUntil } from "cloudflare:workers";
import { AUDIT_DETAIL_CHARS, type AuditEntry } from "@sandbar/shared";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "../app-env.ts";
import { clientAddress } from "../client-address.ts";
import { addToAudit } from "../db/audit.ts";
import { ExpiringCache } from "../expiring-cache.ts";
import { lineOf } from "./actions.ts";
import { type AuditFacts, AuditTrail } from "./trail.ts";

/** What a handler knows better than the request's path. */
export interface AuditNote {
  readonly target?: string;
  readonly detail?: string;
  /** Of whom, when no key said so. */
  readonly by?: Pick<AuditEntry, "tenant" | "key_id">;
}

const SOON_MS = 200;
/** Refusals are gathered for longer: whoever guesses shall not make the database busy. */
const REFUSALS_MS = 2_000;
const KEPT_FOR_RETRY = 1_000;
const USE_MS = 3_600_000;
/** Safe methods are looked at only when they were refused, except for these. */
const READS = /\/terminal$/;

const trail = new AuditTrail();
const used = new ExpiringCache<string, true>(50_000);
/** When what is gathered is written at the latest, as some request has promised. */
let dueAt = Number.POSITIVE_INFINITY;
let unwritten: AuditEntry[] = [];

export const audited = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  const refusal = c.get("refusal") ?? null;
  const { method, path } = c.req;
  if (refusal === null && (method === "GET" || method === "HEAD") && !READS.test(path)) return;
  const line = lineOf(method, matchedRoutes(c).at(-1)?.path ?? path, refusal);
  if (!line) return;
  if (line.kind === "use") {
    // Before anything else is looked up: this is on the way of each execution.
    const use = `${callerOf(c)?.made_by ?? keyOf(c)} ${line.action} ${targetOf(c)}`;
    if (used.get(use)) return;
    used.set(use, true, USE_MS);
  }
  audit(c.env.DB, factsOf(c, line.action, refusal), line.kind !== "refusal");
});

/** Also for what no request does, such as a host that was lost. */
export function audit(d1: D1Database, facts: AuditFacts, apart = true): void {
  const now = Date.now();
  trail.add(facts, now, apart);
  const due = now + (apart ? SOON_MS : REFUSALS_MS);
  // One that is long overdue was promised by a request that is gone.
  if (dueAt <= due && now < dueAt + REFUSALS_MS) return;
  dueAt = due;
  waitUntil(new Promise((resolve) => setTimeout(resolve, due - now)).then(() => write(d1)));
}

async function write(d1: D1Database): Promise<void> {
  dueAt = Number.POSITIVE_INFINITY;
  const entries = [...unwritten, ...trail.take()];
  unwritten = [];
  try {
    await addToAudit(d1, entries);
  } catch (error) {
    console.error("audit log not written yet", entries.length, error);
    unwritten = [...entries, ...unwritten].slice(-KEPT_FOR_RETRY);
  }
}

// Nobody is known yet when the key itself was refused.
const callerOf = (c: Context<AppEnv>) => c.get("caller") as AppEnv["Variables"]["caller"] | undefined;

const keyOf = (c: Context<AppEnv>): string | null =>
  c.get("audit")?.by?.key_id ?? callerOf(c)?.key_id ?? null;

function factsOf(c: Context<AppEnv>, action: string, refusal: string | null): AuditFacts {
  const { detail, by } = c.get("audit") ?? {};
  const caller = callerOf(c);
  const host = c.get("host") as AppEnv["Variables"]["host"] | undefined;
  return {
    tenant: by?.tenant ?? caller?.tenant ?? host?.tenant ?? null,
    key_id: keyOf(c),
    token_id: caller?.grant?.id ?? null,
    via: c.env.ACTING ? "agent" : (caller?.via ?? (host ? "host" : null)),
    address: clientAddress(c.env, c.req.raw),
    action,
    target: targetOf(c),
    result: refusal ?? "ok",
    request_id: c.get("requestId"),
    detail: detail?.slice(0, AUDIT_DETAIL_CHARS) ?? null,
  };
}

/** What the path names first, or what the answer says was made. */
function targetOf(c: Context<AppEnv>): string | null {
  const noted = c.get("audit")?.target;
  if (noted !== undefined) return noted;
  const [, area, id] = /^\/v1\/([^/]+)\/([^/]{1,255})/.exec(c.req.path) ?? [];
  if (id !== undefined && area !== "console" && area !== "settings" && !id.startsWith("enrollments")) {
    try {
      return decodeURIComponent(id);
    } catch {
      return id;
    }
  }
  return c.res.headers.get("Location")?.split("/").at(-1) ?? null;
}

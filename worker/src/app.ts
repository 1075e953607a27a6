/** @module The HTTP application: what happens to every request, and the table of routes. */
import { newId, SandbarError } from "@sandbar/shared";
import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "./app-env.ts";
import { hostAuthenticated } from "./artifacts/host-auth.ts";
import { audited } from "./audit/audited.ts";
import { authenticated, requireScope } from "./auth.ts";
import { consoleAnswer } from "./console/page.ts";
import { drain } from "./drain.ts";
import { requireKnownName } from "./host-name.ts";
import { jsonBody } from "./json-body.ts";
import { mayScrape } from "./monitoring/may-scrape.ts";
import { type App, newApp } from "./openapi.ts";
import { onError, problem } from "./problem.ts";
import { dialsLimited, guessesCounted, rateLimited } from "./rates/rate-limits.ts";
import { agentRoutes } from "./routes/agent.ts";
import { agentArtifactRoutes } from "./routes/agent-artifacts.ts";
import { agentSnapshotRoutes } from "./routes/agent-snapshots.ts";
import { artifactRoutes } from "./routes/artifacts.ts";
import { auditRoutes } from "./routes/audit.ts";
import { consoleRoutes } from "./routes/console.ts";
import { contextRoutes } from "./routes/contexts.ts";
import { datasetSourceRoutes } from "./routes/dataset-sources.ts";
import { datasetRoutes } from "./routes/datasets.ts";
import { docsRoutes } from "./routes/docs.ts";
import { eventRoutes } from "./routes/events.ts";
import { executionRoutes } from "./routes/executions.ts";
import { exportRoutes } from "./routes/exports.ts";
import { fileRoutes } from "./routes/files.ts";
import { hostRoutes } from "./routes/hosts.ts";
import { importRoutes } from "./routes/imports.ts";
import { keyRoutes } from "./routes/keys.ts";
import { langgraphDoor, langgraphRoutes } from "./routes/langgraph.ts";
import { mcpDoor, mcpRoutes } from "./routes/mcp.ts";
import { metricRoutes } from "./routes/metrics.ts";
import { networkRoutes } from "./routes/network.ts";
import { operationRoutes } from "./routes/operations.ts";
import { policyRoutes } from "./routes/policies.ts";
import { portRoutes } from "./routes/ports.ts";
import { previewRoutes } from "./routes/previews.ts";
import { processRoutes } from "./routes/processes.ts";
import { usualHeaders } from "./routes/request.ts";
import { runRoutes } from "./routes/run.ts";
import { secretRoutes } from "./routes/secrets.ts";
import { sessionTokenRoutes } from "./routes/session-tokens.ts";
import { sessionRoutes } from "./routes/sessions.ts";
import { settingsRoutes } from "./routes/settings.ts";
import { snapshotRoutes } from "./routes/snapshots.ts";
import { terminalRoutes } from "./routes/terminal.ts";
import { usageRoutes } from "./routes/usage.ts";
import { volumeRoutes } from "./routes/volumes.ts";
import { withinGrant } from "./token-verbs.ts";
import { traced } from "./traces.ts";
import { whileGood } from "./while-good.ts";

const REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;
const HAS_JSON_BODY = new Set(["POST", "PATCH", "DELETE"]);
/** PUT is for bytes, except here. */
const JSON_PUT = /^\/v1\/(settings$|policies\/|secrets\/|sessions\/[^/]+\/network$)/;
/** Bodies that are not ours to read. */
const RAW_BODY = /^\/(preview|langgraph)\/|^\/v1\/sessions\/[^/]+\/(ports\/|processes\/[^/]+\/stdin$)/;

export function createApp(): App {
  const app = newApp();

  app.use(async (c, next) => {
    const given = c.req.header("X-Request-Id");
    const requestId = given && REQUEST_ID.test(given) ? given : newId("req");
    c.set("requestId", requestId);
    c.set("cause", { request: requestId });
    // Set before the answer is made they cost nothing; afterwards each one makes a new Response.
    for (const [name, value] of Object.entries(usualHeaders(requestId))) c.header(name, value);
    // Links and origins are made of it, some after the work is done.
    if (!URL.canParse(c.req.url))
      throw new SandbarError("VALIDATION_FAILED", "The Host header names no host");
    // Not of requests that come from within, and not of probes, which name whatever they like.
    if (!c.env.ACTING && !c.env.INNER && c.req.path !== "/healthz") requireKnownName(c.req.raw, c.env);
    await next();
    // Before the answer: after it the runtime closes a connection whose request is not at its end.
    if (c.res.status >= 400) await drain(c.req.raw.body, Number(c.req.header("Content-Length")));
    // A handler's own Response lacks them, and a WebSocket's answer has no headers that could be changed.
    if (c.res.status === 101 || c.res.headers.has("X-Request-Id")) return;
    for (const [name, value] of Object.entries(usualHeaders(requestId))) c.header(name, value);
  });
  app.use(traced);
  app.use(audited);
  app.use("/v1/*", authenticated, rateLimited, withinGrant, whileGood);
  for (const path of ["/agent/join", "/console/sign-in"]) app.use(path, guessesCounted);
  app.use("/agent/link/*", dialsLimited);
  for (const path of [
    "/v1/sessions/*",
    "/v1/artifacts/*",
    "/v1/volumes/*",
    "/v1/metrics/*",
    "/v1/snapshots/*",
    "/v1/run",
  ])
    app.use(path, requireScope("agent"));
  app.use("/metrics", mayScrape);
  app.use("/v1/hosts/*", requireScope("operator"));
  app.use("/v1/dataset-sources/*", requireScope("operator"));
  app.use("/v1/policies/*", requireScope("operator"));
  app.use("/v1/keys/*", requireScope("admin"));
  app.use("/mcp", ...mcpDoor, rateLimited, requireScope("agent"), whileGood);
  app.use("/langgraph/*", ...langgraphDoor, rateLimited, withinGrant, whileGood);
  app.use("/v1/settings/*", requireScope("agent"));
  app.use("/v1/secrets/*", requireScope("agent"));
  for (const path of [
    "/agent/artifacts/*",
    "/agent/blobs/*",
    "/agent/uploads/*",
    "/agent/snapshots/*",
    "/agent/secrets",
  ])
    app.use(path, hostAuthenticated);
  // Only now: nobody waits for the body of a request that is refused without it.
  app.use(async (c, next) => (hasJsonBody(c) ? jsonBody(c, next) : next()));

  operationRoutes(app);
  eventRoutes(app);
  usageRoutes(app);
  sessionRoutes(app);
  sessionTokenRoutes(app);
  networkRoutes(app);
  metricRoutes(app);
  executionRoutes(app);
  contextRoutes(app);
  fileRoutes(app);
  importRoutes(app);
  processRoutes(app);
  terminalRoutes(app);
  previewRoutes(app);
  portRoutes(app);
  hostRoutes(app);
  keyRoutes(app);
  auditRoutes(app);
  policyRoutes(app);
  volumeRoutes(app);
  artifactRoutes(app);
  exportRoutes(app);
  snapshotRoutes(app);
  runRoutes(app);
  datasetRoutes(app);
  datasetSourceRoutes(app);
  secretRoutes(app);
  settingsRoutes(app);
  langgraphRoutes(app);
  mcpRoutes(app);
  agentRoutes(app);
  agentArtifactRoutes(app);
  agentSnapshotRoutes(app);
  docsRoutes(app);
  consoleRoutes(app);

  const methodsOf = routeTable(app);
  app.notFound(async (c: Context<AppEnv>) => {
    const methods = methodsOf(c.req.path);
    if (methods.length === 0)
      return (await consoleAnswer(c)) ?? problem(c, { code: "NOT_FOUND", detail: "No such path" });
    const possible = new Intl.ListFormat("en").format(methods);
    const detail = `${c.req.method} is not possible here; ${possible} ${methods.length === 1 ? "is" : "are"}`;
    return problem(c, { code: "METHOD_NOT_ALLOWED", detail }, { Allow: methods.join(", ") });
  });
  app.onError(onError);
  return app;
}

function hasJsonBody(c: Context<AppEnv>): boolean {
  const json = HAS_JSON_BODY.has(c.req.method) || (c.req.method === "PUT" && JSON_PUT.test(c.req.path));
  if (!json || RAW_BODY.test(c.req.path)) return false;
  // What stands for all methods only looks on; a path without more is not there.
  return matchedRoutes(c).at(-1)?.method !== "ALL";
}

/** Which methods a path has, to tell a wrong path from a wrong method. */
function routeTable(app: App): (path: string) => string[] {
  const routes = app.routes
    .filter(({ method }) => method !== "ALL")
    .map(({ method, path }) => ({ method, pattern: new RegExp(`^${path.replace(/:[^/]+/g, "[^/]+")}/?$`) }));
  return (path) => [
    ...new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)),
  ];
}

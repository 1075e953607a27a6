/** @module The Worker's entry: HTTP, the schedule, and the Durable Object classes. */
import { AgentDoorway } from "./agent/door.ts";
import { createApp } from "./app.ts";
import { sweepArtifacts } from "./artifacts/sweep.ts";
import { pruneAudit } from "./db/audit.ts";
import { pruneConsole } from "./db/console.ts";
import { pruneKeys } from "./db/keys.ts";
import { pruneTokens } from "./db/session-tokens.ts";
import { auditRetentionMs, type Env } from "./env.ts";
import { fleetObject } from "./rpc.ts";
import { resealSecrets } from "./settings/reseal.ts";

export { FleetObject } from "./fleet/object.ts";
export { HostObject } from "./host/object.ts";
export { SessionObject } from "./session/object.ts";
export { SessionKeyObject } from "./session-key/object.ts";
export { TenantObject } from "./tenant/object.ts";
export { TransferObject } from "./transfer/object.ts";
export { TunnelObject } from "./tunnel/object.ts";

const KEEP_EXPIRED_KEYS_MS = 30 * 24 * 3600_000;

const app = createApp();

export class AgentDoor extends AgentDoorway {
  protected override readonly app = app;
}

export default {
  fetch: (request, env, ctx) => app.fetch(request, env, ctx),

  async scheduled(_controller, env, ctx) {
    ctx.waitUntil(
      Promise.all([
        fleetObject(env).prune(),
        sweepArtifacts(env),
        resealSecrets(env),
        pruneKeys(env.DB, new Date(Date.now() - KEEP_EXPIRED_KEYS_MS).toISOString()),
        pruneConsole(env.DB),
        pruneTokens(env.DB),
        pruneAudit(env.DB, new Date(Date.now() - auditRetentionMs(env)).toISOString()),
      ]),
    );
  },
} satisfies ExportedHandler<Env>;

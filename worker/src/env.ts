/** @module The Worker's bindings, and the settings read from them. */
import type { AgentService, SessionSpec } from "@sandbar/shared";
import type { Caller } from "./auth.ts";
import type { FleetObject } from "./fleet/object.ts";
import type { HostObject } from "./host/object.ts";
import type { SessionObject } from "./session/object.ts";
import type { SessionKeyObject } from "./session-key/object.ts";
import type { TenantObject } from "./tenant/object.ts";
import type { TransferObject } from "./transfer/object.ts";
import type { TunnelObject } from "./tunnel/object.ts";

export interface Env {
  DB: D1Database;
  BLOBS: R2Bucket;
  ASSETS: Fetcher;
  SESSIONS: DurableObjectNamespace<SessionObject>;
  SESSION_KEYS: DurableObjectNamespace<SessionKeyObject>;
  HOSTS: DurableObjectNamespace<HostObject>;
  FLEET: DurableObjectNamespace<FleetObject>;
  TENANTS: DurableObjectNamespace<TenantObject>;
  TRANSFERS: DurableObjectNamespace<TransferObject>;
  TUNNELS: DurableObjectNamespace<TunnelObject>;
  HEARTBEAT_MS?: string;
  UNREACHABLE_MS?: string;
  LOST_MS?: string;
  MAX_SESSIONS_PER_TENANT?: string;
  /** How long a session may take to become ready. */
  CREATE_TIMEOUT_MS?: string;
  ARTIFACT_MAX_BYTES?: string;
  ARTIFACT_MAX_PER_EXECUTION?: string;
  SESSION_ARTIFACT_BYTES?: string;
  TENANT_ARTIFACT_BYTES?: string;
  TENANT_ARTIFACT_COUNT?: string;
  ARTIFACT_TTL_S?: string;
  MAX_BODY_BYTES?: string;
  /** How long a JSON body may pause. */
  BODY_IDLE_MS?: string;
  DATASET_MAX_BYTES?: string;
  /** Encrypts what is secret in D1; several, separated by commas, while one replaces another. */
  SECRETS_KEY?: string;
  /** The agent's Worker. */
  AGENT?: AgentService;
  /** In whose name the agent calls; nobody outside can set it. */
  ACTING?: Caller;
  /** The agent's model, unless a tenant has set another (docs/agent.md). */
  SANDBAR_MODEL?: string;
  SANDBAR_MODEL_BASE_URL?: string;
  SANDBAR_MODEL_API_KEY?: string;
  SANDBAR_MODEL_PRIVATE_URLS?: string;
  OPENAI_API_KEY?: string;
  ANTHROPIC_API_KEY?: string;
  GOOGLE_API_KEY?: string;
  MISTRAL_API_KEY?: string;
  GROQ_API_KEY?: string;
  XAI_API_KEY?: string;
  OPENROUTER_API_KEY?: string;
  BLOB_GRACE_S?: string;
  SIGNING_KEY_MAX_AGE_S?: string;
  /** Names under which `/mcp` answers plain HTTP, and origins of pages that may call it (docs/mcp.md). */
  MCP_ALLOWED_HOSTS?: string;
  MCP_ALLOWED_ORIGINS?: string;
  /** The console's origin as browsers see it, where a proxy ends TLS (docs/console.md). */
  CONSOLE_ORIGIN?: string;
  R2_ACCESS_KEY_ID?: string;
  R2_SECRET_ACCESS_KEY?: string;
  R2_ENDPOINT?: string;
  R2_BUCKET?: string;
}

export interface LeaseTimes {
  readonly heartbeat: number;
  readonly unreachable: number;
  readonly lost: number;
}

export function leaseTimes(env: Env): LeaseTimes {
  return {
    heartbeat: setting(env.HEARTBEAT_MS, 10_000),
    unreachable: setting(env.UNREACHABLE_MS, 45_000),
    lost: setting(env.LOST_MS, 300_000),
  };
}

export const maxSessionsPerTenant = (env: Env) => setting(env.MAX_SESSIONS_PER_TENANT, 0);

export const bodyIdleMs = (env: Env) => setting(env.BODY_IDLE_MS, 30_000);

/** What a host may need beyond the usual: the defaults of its own limits for pulling and installing, and a little more. */
const PULL_MS = 310_000;
const INSTALL_MS = 310_000;

export function createTimeoutMs(env: Env, spec: Pick<SessionSpec, "image" | "dependencies">): number {
  const usual = setting(env.CREATE_TIMEOUT_MS, 120_000);
  return usual + (spec.image ? PULL_MS : 0) + (Object.keys(spec.dependencies).length ? INSTALL_MS : 0);
}

function setting(value: string | undefined, fallback: number): number {
  const number = Number(value);
  return value !== undefined && value !== "" && Number.isFinite(number) && number >= 0 ? number : fallback;
}

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
  KEY_REQUESTS_PER_MINUTE?: string;
  TENANT_REQUESTS_PER_MINUTE?: string;
  WRONG_KEYS_PER_MINUTE?: string;
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
  /** Of a request that this Worker makes of itself for another one, which came from there. */
  INNER?: { readonly address: string | null };
  /** The agent's model, unless a tenant has set another (docs/agent.md). */
  SANDBAR_MODEL?: string;
  SANDBAR_MODEL_BASE_URL?: string;
  SANDBAR_MODEL_API_KEY?: string;
  SANDBAR_MODEL_PRIVATE_URLS?: string;
  /** Where an Ollama runs, if not at its usual port of this machine. */
  OLLAMA_BASE_URL?: string;
  OPENAI_API_KEY?: string;
  ANTHROPIC_API_KEY?: string;
  GOOGLE_API_KEY?: string;
  MISTRAL_API_KEY?: string;
  GROQ_API_KEY?: string;
  XAI_API_KEY?: string;
  OPENROUTER_API_KEY?: string;
  AUDIT_RETENTION_DAYS?: string;
  /** Whoever shows it may read `/metrics`, and nothing else (docs/monitoring.md). */
  METRICS_TOKEN?: string;
  /** Where traces go (docs/monitoring.md). */
  OTEL_EXPORTER_OTLP_ENDPOINT?: string;
  OTEL_EXPORTER_OTLP_HEADERS?: string;
  /** The share of requests that are traced, of those whose caller has not decided. */
  OTEL_TRACES_SAMPLER_ARG?: string;
  /** Where a proxy says from where a request came. */
  CLIENT_ADDRESS_HEADER?: string;
  BLOB_GRACE_S?: string;
  SIGNING_KEY_MAX_AGE_S?: string;
  /** Names under which plain HTTP is answered, besides addresses and `localhost` (docs/configuration.md). */
  ALLOWED_HOSTS?: string;
  /** Origins of pages that may call `/mcp` (docs/mcp.md). */
  MCP_ALLOWED_ORIGINS?: string;
  /** Origins of pages that may call `/langgraph` with a key (docs/agent.md). */
  LANGGRAPH_ALLOWED_ORIGINS?: string;
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

export const keyRequestsPerMinute = (env: Env) => setting(env.KEY_REQUESTS_PER_MINUTE, 60_000);
export const tenantRequestsPerMinute = (env: Env) => setting(env.TENANT_REQUESTS_PER_MINUTE, 120_000);
export const wrongKeysPerMinute = (env: Env) => setting(env.WRONG_KEYS_PER_MINUTE, 60);

/** A day at least: the database itself keeps what is younger. */
export const auditRetentionMs = (env: Env) =>
  Math.max(1, setting(env.AUDIT_RETENTION_DAYS, 90)) * 24 * 3600_000;

export const traceRatio = (env: Env) => setting(env.OTEL_TRACES_SAMPLER_ARG, 1);

export const bodyIdleMs = (env: Env) => setting(env.BODY_IDLE_MS, 30_000);

/** What a host may need beyond the usual: the defaults of its own limits for pulling and installing, and a little more. */
const PULL_MS = 310_000;
const INSTALL_MS = 310_000;

const RESTORE_MS = 600_000;

export function createTimeoutMs(
  env: Env,
  spec: Pick<SessionSpec, "image" | "dependencies" | "restore">,
): number {
  const usual = setting(env.CREATE_TIMEOUT_MS, 120_000);
  return (
    usual +
    (spec.image ? PULL_MS : 0) +
    (Object.keys(spec.dependencies).length ? INSTALL_MS : 0) +
    (spec.restore ? RESTORE_MS : 0)
  );
}

function setting(value: string | undefined, fallback: number): number {
  const number = Number(value);
  return value !== undefined && value !== "" && Number.isFinite(number) && number >= 0 ? number : fallback;
}

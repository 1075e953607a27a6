/** @module Settings from environment variables. */
import type { CreateSession } from "@sandbar/shared";

export type Env = Record<string, string | undefined>;

const DEFAULT_URL = "http://127.0.0.1:8787";

export interface ClientConfig {
  url: string;
  apiKey: string;
}

export function configFromEnv(env: Env = processEnv()): ClientConfig {
  return { url: env.SANDBAR_URL || DEFAULT_URL, apiKey: env.SANDBAR_API_KEY ?? "" };
}

/** What new sessions are like unless a call says otherwise. */
export function sessionDefaultsFromEnv(env: Env = processEnv()): Partial<CreateSession> {
  const number = (name: string) => {
    const value = env[name];
    if (value === undefined || value === "") return undefined;
    if (Number.isNaN(Number(value)))
      throw new Error(`${name} must be a number, not ${JSON.stringify(value)}`);
    return Number(value);
  };
  const limits = {
    memory_mb: number("SANDBAR_MEMORY_MB"),
    cpus: number("SANDBAR_CPUS"),
    pids: number("SANDBAR_PIDS"),
    tmpfs_mb: number("SANDBAR_TMPFS_MB"),
    timeout_s: number("SANDBAR_TIMEOUT_S"),
  };
  const access = env.SANDBAR_DATASET_ACCESS || env.DATASET_ACCESS;
  const defaults = {
    runtime: env.SANDBAR_RUNTIME || undefined,
    // SANDBAR_ENGINE says what a host runs.
    engine: env.SANDBAR_SESSION_ENGINE || undefined,
    image: env.SANDBAR_IMAGE || undefined,
    storage: env.SANDBAR_SESSION_STORAGE || env.SESSION_STORAGE || undefined,
    datasets: access ? { access: access === "API_TMPFS" ? "API" : access } : undefined,
    network: env.SANDBAR_NETWORK || undefined,
    idle_ttl_s: number("SANDBAR_IDLE_TTL_S"),
    max_lifetime_s: number("SANDBAR_MAX_LIFETIME_S"),
    limits: Object.values(limits).some((value) => value !== undefined) ? defined(limits) : undefined,
  };
  return defined(defaults) as Partial<CreateSession>;
}

function defined<T extends object>(value: T): Partial<T> {
  return Object.fromEntries(Object.entries(value).filter(([, entry]) => entry !== undefined)) as Partial<T>;
}

// Workers and browsers have no process, or one without env.
function processEnv(): Env {
  return (globalThis as { process?: { env?: Env } }).process?.env ?? {};
}

/** @module From a request to a full specification, and whether two of them can share a session. */
import {
  type CreateSession,
  IDLE_TTL_DEFAULT_S,
  type Limits,
  LimitsSchema,
  MAX_LIFETIME_DEFAULT_S,
  type NetworkRules,
  type Session,
  type SessionRules,
  type SessionSpec,
  TIMEOUT_DEFAULT_S,
  USUAL_ENGINE,
  withTag,
} from "@sandbar/shared";

export const DEFAULT_LIMITS: Limits = {
  memory_mb: 1024,
  cpus: 1,
  pids: 256,
  tmpfs_mb: 256,
  timeout_s: TIMEOUT_DEFAULT_S,
};

export function fillSpec(request: CreateSession, hostDefaults?: Record<string, number>): SessionSpec {
  const usual = LimitsSchema.safeParse({ ...DEFAULT_LIMITS, ...hostDefaults });
  const limits = { ...(usual.success ? usual.data : DEFAULT_LIMITS), ...request.limits };
  // tmpfs counts against the memory limit, so a small session gets a small one.
  if (request.limits?.tmpfs_mb === undefined)
    limits.tmpfs_mb = Math.max(1, Math.min(limits.tmpfs_mb, Math.floor(limits.memory_mb / 2)));
  const network = request.network ?? "none";
  return {
    runtime: request.runtime ?? "python",
    image: request.image ?? null,
    storage: request.storage ?? "TMPFS",
    dataset_access: request.datasets?.access ?? "NONE",
    ...(typeof network === "string" ? { network } : { network: "none", rules: rulesOf(network, 1) }),
    limits,
    dependencies: request.dependencies ?? {},
    env: request.env ?? {},
    volumes: request.volumes ?? [],
    idle_ttl_s: request.idle_ttl_s ?? IDLE_TTL_DEFAULT_S,
    max_lifetime_s: request.max_lifetime_s ?? MAX_LIFETIME_DEFAULT_S,
  };
}

export function rulesOf({ allow, secrets = [] }: NetworkRules, version: number): SessionRules {
  return {
    version,
    allow: [...new Set(allow.map((rule) => rule.toLowerCase()))],
    secrets: secrets.map(({ value: _, ...secret }) => ({ ...secret, host: secret.host.toLowerCase() })),
  };
}

/** As users see it. */
export function networkOf({ network, rules }: Pick<SessionSpec, "network" | "rules">): Session["network"] {
  return rules ? { allow: rules.allow, secrets: rules.secrets ?? [] } : network;
}

/** A host tells its maxima beside its defaults, as `max_<limit>`. */
export function hostMaxima(hostLimits: Record<string, number> = {}): Partial<Limits> {
  return Object.fromEntries(
    Object.keys(DEFAULT_LIMITS).flatMap((name) => {
      const most = hostLimits[`max_${name}`];
      return most === undefined ? [] : [[name, most]];
    }),
  );
}

/**
 * The fields that the request gives and the session has otherwise. Fields left out agree with anything. `image` is
 * what the session runs in, once its host has said so.
 */
export function conflictsWith(
  request: CreateSession,
  spec: SessionSpec,
  image: string | null = null,
): string[] {
  const differing: string[] = [];
  const compare = (field: string, wanted: unknown, has: unknown) => {
    if (wanted !== undefined && canonical(wanted) !== canonical(has)) differing.push(field);
  };
  compare("snapshot", request.snapshot, spec.restore?.snapshot);
  compare("runtime", request.runtime, spec.runtime);
  compare("engine", request.engine === "any" ? undefined : request.engine, spec.engine ?? USUAL_ENGINE);
  const has = image ?? spec.image;
  compare("image", request.image && withTag(request.image), has && withTag(has));
  compare("storage", request.storage, spec.storage);
  compare("datasets.access", request.datasets?.access, spec.dataset_access);
  const { network } = request;
  const wanted =
    typeof network === "object" ? networkOf({ network: "none", rules: rulesOf(network, 1) }) : network;
  compare("network", wanted, networkOf(spec));
  for (const [name, wanted] of Object.entries(request.limits ?? {}))
    compare(`limits.${name}`, wanted, spec.limits[name as keyof Limits]);
  // Of a session that began with a snapshot they were merged with the snapshot's.
  const merged = (given: Record<string, string> | undefined, has: Record<string, string>) =>
    given && request.snapshot !== undefined ? { ...has, ...given } : given;
  compare("dependencies", merged(request.dependencies, spec.dependencies), spec.dependencies);
  compare("env", merged(request.env, spec.env), spec.env);
  compare("volumes", request.volumes, spec.volumes);
  return differing;
}

/** JSON that does not depend on the order of keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))
      : inner,
  );
}

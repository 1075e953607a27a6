/** @module Which sessions a warm box can become. */
import type { Language, SessionSpec } from "@sandbar/shared";
import type { Config } from "../host/config.ts";

/** What a claim always sets on the running box. */
type SetAtClaim = "limits" | "env" | "rules" | "idle_ttl_s" | "max_lifetime_s" | "max_timeout_s" | "restore";

/** Null for a session that has to be made from nothing. `late`: whether the host can mount into a running box. */
export function poolKey(config: Config, context: string, spec: SessionSpec, late: boolean): string | null {
  const { limits: _l, env: _e, rules: _r, restore: _o, ...others } = spec;
  const { idle_ttl_s: _i, max_lifetime_s: _m, max_timeout_s: _t, ...rest } = others;
  const made: Omit<SessionSpec, SetAtClaim> = { ...rest };
  // A session comes to a host because of the engine there, which made all boxes of its pool.
  delete made.engine;
  if (!late && (made.storage === "BIND" || made.dataset_access === "LOCAL_RO")) return null;
  if (made.dataset_access === "LOCAL_RO" && !config.datasetsRoot) return null;
  if (made.volumes.length || Object.keys(made.dependencies).length) return null;
  if (made.image === config.images[made.runtime]) made.image = null;
  if (made.image !== null) return null;
  // Mounted when it is claimed; dataset access by API needs nothing of the box.
  made.storage = "TMPFS";
  made.dataset_access = "NONE";
  // A field that this function does not know of keeps unlike sessions apart; an empty one is as good as none.
  const fields = Object.entries({ ...made, context }).filter(([, value]) => !isEmpty(value));
  return JSON.stringify(Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** What a box is made as that shall become such sessions. */
export function boxSpec(config: Config, spec: SessionSpec): SessionSpec {
  const { rules: _r, restore: _o, ...rest } = spec;
  return { ...rest, storage: "TMPFS", dataset_access: "NONE", limits: config.defaults, env: {} };
}

/** What a box is made as before anybody wants it. */
export function poolSpec(config: Config, runtime: Language): SessionSpec {
  return {
    runtime,
    image: null,
    storage: "TMPFS",
    dataset_access: "NONE",
    network: "none",
    limits: config.defaults,
    dependencies: {},
    env: {},
    volumes: [],
    idle_ttl_s: 0,
    max_lifetime_s: 0,
  };
}

function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === false || value === "") return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

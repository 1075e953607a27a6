/** @module What holds for a tenant: the defaults, over them what is said for all, over that what is said for it. */
import { type EffectivePolicy, EngineSchema, type Policy } from "@sandbar/shared";

/** What a host offers at all is its operator's word on the host; this takes nothing of it away. */
const DEFAULTS: EffectivePolicy = {
  allow: {
    egress: true,
    bind: true,
    volumes: true,
    dependencies: true,
    images: true,
    local_datasets: true,
    imports: true,
  },
  engines: [...EngineSchema.options],
  isolation: null,
  max: {},
  shares: {
    sessions: null,
    memory_mb: null,
    cpus: null,
    host_percent: 75,
    volumes: 100,
    volume_mb: 102_400,
    requests_per_minute: null,
    executions_per_minute: null,
    egress_mb_per_day: null,
  },
};

export function effectivePolicy(...said: readonly Policy[]): EffectivePolicy {
  return said.reduce<EffectivePolicy>(
    (under, over) => ({
      allow: { ...under.allow, ...over.allow },
      engines: over.engines ?? under.engines,
      isolation: over.isolation === undefined ? under.isolation : over.isolation,
      max: { ...under.max, ...over.max },
      shares: { ...under.shares, ...over.shares },
    }),
    DEFAULTS,
  );
}

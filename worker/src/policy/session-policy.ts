/** @module Whether a policy lets a tenant have a session. */
import {
  type Capability,
  type CreateSession,
  capabilityInWords,
  type EffectivePolicy,
  type EngineChoice,
  type Limits,
  POLICED,
} from "@sandbar/shared";

/** Why not, in words; null when it may. */
export function refusalByPolicy(
  { allow, engines, max }: EffectivePolicy,
  request: CreateSession,
  asked: readonly Capability[],
): string | null {
  const denied = asked.find((one) => !allowed(allow, one));
  if (denied) return `This tenant may not have ${capabilityInWords(denied)}`;
  const { engine = "any", limits, idle_ttl_s, max_lifetime_s } = request;
  if (engine !== "any" && !engines.includes(engine)) return `This tenant may not have the engine ${engine}`;
  const times = { idle_ttl_s, max_lifetime_s };
  for (const [name, most] of Object.entries(max) as [keyof typeof max, number][]) {
    const wanted = name in times ? times[name as keyof typeof times] : limits?.[name as keyof Limits];
    if (wanted !== undefined && wanted > most)
      return `${name in times ? name : `limits.${name}`} may be at most ${most} in this tenant`;
  }
  return null;
}

/** Network by name is network. */
function allowed(allow: EffectivePolicy["allow"], asked: Capability): boolean {
  const one = asked === "network_rules" ? "egress" : POLICED.find((name) => name === asked);
  return one === undefined || allow[one];
}

export function engineByPolicy(
  { engines }: EffectivePolicy,
  { engine = "any" }: CreateSession,
): EngineChoice {
  return engine === "any" && engines.length === 1 ? engines[0]! : engine;
}

/** The request with what it leaves open bounded: a default above the maximum becomes the maximum. */
export function withinMaxima<T extends Record<string, number>>(
  defaults: T,
  max: Partial<Record<keyof T, number | undefined>>,
): T {
  return Object.fromEntries(
    Object.entries(defaults).map(([name, value]) => [name, Math.min(value, max[name] ?? value)]),
  ) as T;
}

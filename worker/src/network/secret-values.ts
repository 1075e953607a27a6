/** @module Secrets of a session's rules on their way in, sealed, and out to its host. */
import {
  type CreateSession,
  type NetworkRules,
  SandbarError,
  type SecretValues,
  type SessionRules,
} from "@sandbar/shared";
import { listSecrets, type StoredSecret, sealedSecrets } from "../db/secrets.ts";
import type { Env } from "../env.ts";
import { seal, unseal } from "../sealed.ts";

/** What a session keeps of its rules' secrets: their values, sealed together, null for each that is stored by name. */
export type SealedValues = string | null;

/** The rules without values, and the values sealed. Stored secrets must be there, and meant for their host. */
export async function withoutValues(
  env: Env,
  tenant: string,
  rules: NetworkRules,
): Promise<{ rules: NetworkRules; sealed: SealedValues }> {
  const { secrets } = rules;
  if (!secrets?.length) return { rules, sealed: null };
  if (secrets.some(({ secret }) => secret !== undefined)) {
    const stored = new Map((await listSecrets(env.DB, tenant)).map((one) => [one.name, one.hosts]));
    for (const [index, { secret, host }] of secrets.entries()) {
      if (secret === undefined) continue;
      const hosts = stored.get(secret);
      if (!hosts) throw refusal(index, `no secret is named ${secret}`);
      if (!mayBeSentTo(hosts, host)) throw refusal(index, `the secret ${secret} may not be sent to ${host}`);
    }
  }
  const values = secrets.map(({ value }) => value ?? null);
  const sealed = values.every((value) => value === null) ? null : await seal(env, values);
  return { rules: { ...rules, secrets: secrets.map(({ value: _, ...rest }) => rest) }, sealed };
}

/** The same for a request that makes a session. */
export async function requestWithoutValues(
  env: Env,
  tenant: string,
  request: CreateSession,
): Promise<{ request: CreateSession; sealed: SealedValues }> {
  if (typeof request.network !== "object") return { request, sealed: null };
  const { rules, sealed } = await withoutValues(env, tenant, request.network);
  return { request: { ...request, network: rules }, sealed };
}

export interface HeldSecrets {
  readonly rules: SessionRules;
  readonly sealed: SealedValues;
}

/** For the session's host, and nobody else. Null for each value that is gone, or no longer meant for its host. */
export async function secretValues(
  env: Env,
  tenant: string,
  { rules, sealed }: HeldSecrets,
): Promise<SecretValues> {
  const secrets = rules.secrets ?? [];
  const own = sealed ? await readable<(string | null)[]>(env, sealed) : null;
  const stored = secrets.some(({ secret }) => secret !== undefined)
    ? await sealedSecrets(env.DB, tenant)
    : new Map<string, StoredSecret>();
  const values = secrets.map(async (one, index) => {
    if (one.secret === undefined) return { ...one, value: own?.[index] ?? null };
    const found = stored.get(one.secret);
    // Its hosts may be others since the session named it.
    const meant = found && mayBeSentTo(found.hosts, one.host);
    return { ...one, value: meant ? await readable<string>(env, found.sealed) : null };
  });
  return { version: rules.version, values: await Promise.all(values) };
}

/** Null for what no key of today opens: the other secrets are as good as before. */
async function readable<T>(env: Env, text: string): Promise<T | null> {
  return (unseal(env, text) as Promise<T>).catch(() => null);
}

function mayBeSentTo(hosts: readonly string[], host: string): boolean {
  return hosts.length === 0 || hosts.includes(host.toLowerCase());
}

function refusal(index: number, message: string): SandbarError {
  const path = `network.secrets.${index}.secret`;
  return new SandbarError("VALIDATION_FAILED", `${path}: ${message}`, { errors: [{ path, message }] });
}

/** @module Tenants' policies in D1. */
import { ANY_TENANT, type EffectivePolicy, type Policy, type TenantPolicy } from "@sandbar/shared";
import { effectivePolicy } from "../policy/effective.ts";

interface Row {
  readonly tenant: string;
  readonly policy: string;
  readonly updated_at: string;
}

export interface TenantStanding {
  readonly policy: EffectivePolicy;
  /** Whether anybody else has a key. */
  readonly alone: boolean;
}

const BOTH = "SELECT tenant, policy, updated_at FROM policies WHERE tenant IN (?, ?)";

export async function findPolicy(d1: D1Database, tenant: string): Promise<TenantPolicy> {
  const { results } = await d1.prepare(BOTH).bind(tenant, ANY_TENANT).all<Row>();
  return toPolicy(tenant, results);
}

/** What counts when a session is made. */
export async function findStanding(d1: D1Database, tenant: string): Promise<TenantStanding> {
  const [policies, others] = await d1.batch<Record<string, unknown>>([
    d1.prepare(BOTH).bind(tenant, ANY_TENANT),
    d1.prepare("SELECT 1 FROM api_keys WHERE tenant <> ? LIMIT 1").bind(tenant),
  ]);
  const { effective } = toPolicy(tenant, policies!.results as unknown as Row[]);
  return { policy: effective, alone: others!.results.length === 0 };
}

/** Those that were set, by the tenant's name. */
export async function listPolicies(d1: D1Database, after: string, limit: number): Promise<TenantPolicy[]> {
  const [page, forAll] = await d1.batch<Record<string, unknown>>([
    d1
      .prepare(
        "SELECT tenant, policy, updated_at FROM policies WHERE tenant > ? AND tenant <> ? ORDER BY tenant LIMIT ?",
      )
      .bind(after, ANY_TENANT, limit),
    d1.prepare("SELECT tenant, policy, updated_at FROM policies WHERE tenant = ?").bind(ANY_TENANT),
  ]);
  const any = forAll!.results as unknown as Row[];
  const rows = page!.results as unknown as Row[];
  return [...(after === "" ? any : []), ...rows].map((row) => toPolicy(row.tenant, [row, ...any]));
}

export async function savePolicy(d1: D1Database, tenant: string, policy: Policy): Promise<void> {
  await d1
    .prepare(
      "INSERT INTO policies VALUES (?1, ?2, ?3) ON CONFLICT (tenant) DO UPDATE SET policy = ?2, updated_at = ?3",
    )
    .bind(tenant, JSON.stringify(policy), new Date().toISOString())
    .run();
}

/** False when there was none. */
export async function deletePolicy(d1: D1Database, tenant: string): Promise<boolean> {
  const { meta } = await d1.prepare("DELETE FROM policies WHERE tenant = ?").bind(tenant).run();
  return meta.changes > 0;
}

function toPolicy(tenant: string, rows: readonly Row[]): TenantPolicy {
  const own = rows.find((row) => row.tenant === tenant);
  const forAll = rows.find((row) => row.tenant === ANY_TENANT);
  const policy: Policy = own ? JSON.parse(own.policy) : {};
  return {
    tenant,
    policy,
    effective: effectivePolicy(forAll ? JSON.parse(forAll.policy) : {}, policy),
    updated_at: own?.updated_at ?? null,
  };
}

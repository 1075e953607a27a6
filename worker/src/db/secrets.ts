/** @module Tenants' stored secrets in D1, sealed. */
import { newId, SECRET_LIMIT, type Secret } from "@sandbar/shared";

interface Row {
  readonly name: string;
  readonly hosts: string;
  readonly sealed: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** False when there are too many, and this would be another one. */
export async function saveSecret(
  d1: D1Database,
  tenant: string,
  { name, hosts, sealed }: { name: string; hosts: readonly string[]; sealed: string },
): Promise<boolean> {
  const now = new Date().toISOString();
  const { meta } = await d1
    .prepare(
      `INSERT INTO secrets (id, tenant, name, hosts, sealed, created_at, updated_at)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?6 WHERE (SELECT count(*) FROM secrets WHERE tenant = ?2 AND name <> ?3) < ?7
       ON CONFLICT (tenant, name) DO UPDATE SET hosts = ?4, sealed = ?5, updated_at = ?6`,
    )
    .bind(newId("sec"), tenant, name, JSON.stringify(hosts), sealed, now, SECRET_LIMIT)
    .run();
  return meta.changes > 0;
}

export async function findSecret(d1: D1Database, tenant: string, name: string): Promise<Secret | null> {
  const row = await d1
    .prepare("SELECT * FROM secrets WHERE tenant = ? AND name = ?")
    .bind(tenant, name)
    .first<Row>();
  return row && shown(row);
}

export async function listSecrets(d1: D1Database, tenant: string): Promise<Secret[]> {
  const { results } = await d1
    .prepare("SELECT * FROM secrets WHERE tenant = ? ORDER BY name LIMIT ?")
    .bind(tenant, SECRET_LIMIT)
    .all<Row>();
  return results.map(shown);
}

export type StoredSecret = Pick<Row, "sealed"> & Pick<Secret, "hosts">;

/** By name, of all that a session may refer to. */
export async function sealedSecrets(d1: D1Database, tenant: string): Promise<Map<string, StoredSecret>> {
  const { results } = await d1
    .prepare("SELECT name, hosts, sealed FROM secrets WHERE tenant = ? LIMIT ?")
    .bind(tenant, SECRET_LIMIT)
    .all<Row>();
  return new Map(results.map(({ name, hosts, sealed }) => [name, { hosts: JSON.parse(hosts), sealed }]));
}

export async function deleteSecret(d1: D1Database, tenant: string, name: string): Promise<boolean> {
  const { meta } = await d1
    .prepare("DELETE FROM secrets WHERE tenant = ? AND name = ?")
    .bind(tenant, name)
    .run();
  return meta.changes > 0;
}

function shown({ name, hosts, created_at, updated_at }: Row): Secret {
  return { name, hosts: JSON.parse(hosts), created_at, updated_at };
}

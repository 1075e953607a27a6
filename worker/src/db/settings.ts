/** @module Tenants' settings in D1: what may be shown, and what is sealed. */
import type { Provider, PutSettings } from "@sandbar/shared";

export type PlainSettings = Omit<PutSettings, "api_key" | "api_keys">;
export type Secrets = Partial<Record<Provider, string>>;

export interface SettingsRow {
  readonly settings: PlainSettings;
  /** Sealed `Secrets`. */
  readonly secrets: string;
  readonly updated_at: string;
}

export async function findSettings(d1: D1Database, tenant: string): Promise<SettingsRow | null> {
  const row = await d1
    .prepare("SELECT settings, secrets, updated_at FROM settings WHERE tenant = ?")
    .bind(tenant)
    .first<{ settings: string; secrets: string; updated_at: string }>();
  return row && { ...row, settings: JSON.parse(row.settings) };
}

/** False when somebody else wrote since `before`. */
export async function saveSettings(
  d1: D1Database,
  tenant: string,
  { settings, secrets }: Pick<SettingsRow, "settings" | "secrets">,
  before: string | null,
): Promise<boolean> {
  const now = new Date().toISOString();
  const { meta } = await d1
    .prepare(
      `INSERT INTO settings (tenant, settings, secrets, updated_at) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (tenant) DO UPDATE SET settings = ?2, secrets = ?3, updated_at = ?4 WHERE updated_at = ?5`,
    )
    .bind(tenant, JSON.stringify(settings), secrets, now, before)
    .run();
  return meta.changes > 0;
}

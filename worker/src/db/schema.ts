/** @module D1's tables. The SQL that makes them is in `migrations/`. */
import type { Capability, Failure, Language, Scope, SessionSpec, TokenVerb } from "@sandbar/shared";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { LifeState } from "../session/machine.ts";

export const apiKeys = sqliteTable("api_keys", {
  id: text().primaryKey(),
  digest: text().notNull().unique(),
  name: text().notNull(),
  tenant: text().notNull(),
  scopes: text({ mode: "json" }).$type<Scope[]>().notNull(),
  created_at: text().notNull(),
  expires_at: text(),
  last_used_at: text(),
});

/** Without `env`, which may hold secrets and is of no use in a list; with what the host said beside it. */
type StoredSpec = Omit<SessionSpec, "env"> & { languages?: Language[]; capabilities?: Capability[] };

/** A copy for lists and usage, written when a session changes; the SessionObject is the truth. */
export const sessions = sqliteTable("sessions", {
  id: text().primaryKey(),
  tenant: text().notNull(),
  key: text().notNull(),
  runtime: text().notNull(),
  status: text().$type<LifeState>().notNull(),
  host_id: text(),
  image: text(),
  labels: text({ mode: "json" }).$type<Record<string, string>>().notNull(),
  spec: text({ mode: "json" }).$type<StoredSpec>().notNull(),
  created_at: text().notNull(),
  last_used_at: text().notNull(),
  ended_at: text(),
  error: text({ mode: "json" }).$type<Failure>(),
  executions: integer().notNull().default(0),
  execution_ms: integer().notNull().default(0),
  output_bytes: integer().notNull().default(0),
  created_by: text(),
});

export const consoleSessions = sqliteTable("console_sessions", {
  id: text().primaryKey(),
  key_id: text().notNull(),
  created_at: text().notNull(),
  expires_at: text().notNull(),
});

export const consoleCodes = sqliteTable("console_codes", {
  digest: text().primaryKey(),
  key_id: text().notNull(),
  expires_at: text().notNull(),
});

export const sessionTokens = sqliteTable("session_tokens", {
  id: text().primaryKey(),
  tenant: text().notNull(),
  session_id: text().notNull(),
  key_id: text().notNull(),
  verbs: text({ mode: "json" }).$type<TokenVerb[]>().notNull(),
  label: text(),
  created_at: text().notNull(),
  expires_at: text().notNull(),
});

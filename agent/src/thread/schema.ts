/** @module The tables of a thread's object. */
import { BIG_TEXT_SCHEMA } from "@sandbar/worker/src/session/big-text.ts";

const TABLES = [
  BIG_TEXT_SCHEMA,
  // Whose thread this is; written before anything else.
  "CREATE TABLE thread (tenant TEXT NOT NULL, thread_id TEXT NOT NULL)",
  `CREATE TABLE runs (
     number INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
     status TEXT NOT NULL, request TEXT NOT NULL, metadata TEXT NOT NULL, strategy TEXT NOT NULL, key_id TEXT NOT NULL,
     origin TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, cancel TEXT, error TEXT
   )`,
  `CREATE TABLE events (
     run_id TEXT NOT NULL, id INTEGER NOT NULL, event TEXT NOT NULL, data TEXT, bytes INTEGER NOT NULL,
     PRIMARY KEY (run_id, id)
   ) WITHOUT ROWID`,
  `CREATE TABLE checkpoints (
     ns TEXT NOT NULL, id TEXT NOT NULL, parent TEXT, run_id TEXT, checkpoint TEXT, metadata TEXT NOT NULL,
     bytes INTEGER NOT NULL, PRIMARY KEY (ns, id)
   ) WITHOUT ROWID`,
  `CREATE TABLE writes (
     ns TEXT NOT NULL, checkpoint_id TEXT NOT NULL, task_id TEXT NOT NULL, idx INTEGER NOT NULL, channel TEXT NOT NULL,
     value TEXT, PRIMARY KEY (ns, checkpoint_id, task_id, idx)
   ) WITHOUT ROWID`,
  "CREATE TABLE images (sha256 TEXT PRIMARY KEY, mime TEXT NOT NULL, data TEXT) WITHOUT ROWID",
  // What runs in the sandbox for a run, so that cancelling finds it even after a crash.
  "CREATE TABLE executions (path TEXT PRIMARY KEY, run_id TEXT NOT NULL) WITHOUT ROWID",
];

export function createTables(sql: SqlStorage): void {
  const known = sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'runs'").toArray().length > 0;
  if (!known) for (const table of TABLES) sql.exec(table);
}

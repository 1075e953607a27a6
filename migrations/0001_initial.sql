CREATE TABLE api_keys (
  id TEXT PRIMARY KEY,
  digest TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  tenant TEXT NOT NULL,
  scopes TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT
);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  key TEXT NOT NULL,
  runtime TEXT NOT NULL,
  status TEXT NOT NULL,
  host_id TEXT,
  image TEXT,
  labels TEXT NOT NULL,
  spec TEXT NOT NULL,
  created_at TEXT NOT NULL,
  last_used_at TEXT NOT NULL,
  ended_at TEXT,
  error TEXT,
  executions INTEGER NOT NULL DEFAULT 0,
  execution_ms INTEGER NOT NULL DEFAULT 0,
  output_bytes INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX sessions_by_tenant ON sessions (tenant, id);
CREATE INDEX sessions_by_key ON sessions (tenant, key);

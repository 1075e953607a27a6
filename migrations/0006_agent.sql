CREATE TABLE threads (
  tenant TEXT NOT NULL,
  thread_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  state_updated_at TEXT NOT NULL,
  metadata TEXT NOT NULL,
  status TEXT NOT NULL,
  PRIMARY KEY (tenant, thread_id)
) WITHOUT ROWID;

CREATE INDEX threads_by_time ON threads (tenant, updated_at);

-- What a tenant has set over the environment; `secrets` is sealed.
CREATE TABLE settings (
  tenant TEXT PRIMARY KEY,
  settings TEXT NOT NULL,
  secrets TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;

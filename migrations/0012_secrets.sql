-- Secrets that tenants keep for their sessions' network; `sealed` with SECRETS_KEY.
CREATE TABLE secrets (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  hosts TEXT NOT NULL,
  sealed TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL,
  UNIQUE (tenant, name)
) WITHOUT ROWID;

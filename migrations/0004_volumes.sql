CREATE TABLE volumes (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  host_id TEXT,
  size_mb INTEGER,
  deleting INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL
);

CREATE UNIQUE INDEX volumes_by_name ON volumes (tenant, name);

-- From before a session's creation is sent to a host until its end is known.
CREATE TABLE volume_uses (
  tenant TEXT NOT NULL,
  name TEXT NOT NULL,
  session_id TEXT NOT NULL,
  PRIMARY KEY (tenant, name, session_id)
) WITHOUT ROWID;

CREATE INDEX volume_uses_by_session ON volume_uses (session_id);

-- Who did what. Only ever added to: the schedule removes what is older than its retention, and nothing else can.
CREATE TABLE audit (
  id TEXT PRIMARY KEY,
  at TEXT NOT NULL,
  last_at TEXT NOT NULL,
  count INTEGER NOT NULL,
  tenant TEXT,
  key_id TEXT,
  token_id TEXT,
  via TEXT,
  address TEXT,
  action TEXT NOT NULL,
  target TEXT,
  result TEXT NOT NULL,
  request_id TEXT,
  detail TEXT
) WITHOUT ROWID;

CREATE INDEX audit_by_tenant ON audit (tenant, id);
CREATE INDEX audit_by_target ON audit (target, id);
CREATE TRIGGER audit_unchanged BEFORE UPDATE ON audit BEGIN SELECT RAISE(ABORT, 'the audit log is only ever added to'); END;
CREATE TRIGGER audit_kept BEFORE DELETE ON audit WHEN OLD.at > strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-1 day') BEGIN SELECT RAISE(ABORT, 'the audit log is only ever added to'); END;

-- The key or token that made it.
ALTER TABLE sessions ADD COLUMN created_by TEXT;

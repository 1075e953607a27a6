CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  session_id TEXT NOT NULL,
  execution_id TEXT,
  name TEXT NOT NULL,
  size INTEGER NOT NULL,
  mime TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  version TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT
);

CREATE UNIQUE INDEX artifacts_once ON artifacts (session_id, name, sha256, version);
CREATE INDEX artifacts_by_tenant ON artifacts (tenant, id);
CREATE INDEX artifacts_by_session ON artifacts (session_id, id);
CREATE INDEX artifacts_by_content ON artifacts (tenant, sha256);
CREATE INDEX artifacts_by_expiry ON artifacts (expires_at) WHERE expires_at IS NOT NULL;

CREATE TABLE blobs (
  tenant TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  size INTEGER NOT NULL,
  object_key TEXT NOT NULL,
  object_offset INTEGER NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (tenant, sha256)
) WITHOUT ROWID;

CREATE INDEX blobs_by_object ON blobs (object_key);
CREATE INDEX blobs_by_age ON blobs (created_at);

-- Each artifact counts for its tenant (scope `t/<tenant>`) and its session (`s/<session>`).
CREATE TABLE storage_totals (
  scope TEXT PRIMARY KEY,
  bytes INTEGER NOT NULL DEFAULT 0,
  count INTEGER NOT NULL DEFAULT 0,
  max_bytes INTEGER NOT NULL,
  max_count INTEGER NOT NULL
) WITHOUT ROWID;

-- Quotas hold even when many record at once: a row over its limits is left out of its INSERT.
CREATE TRIGGER artifacts_within_quota BEFORE INSERT ON artifacts WHEN EXISTS (SELECT 1 FROM storage_totals WHERE scope IN ('t/' || NEW.tenant, 's/' || NEW.session_id) AND (bytes + NEW.size > max_bytes OR count + 1 > max_count)) BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER artifacts_counted AFTER INSERT ON artifacts BEGIN UPDATE storage_totals SET bytes = bytes + NEW.size, count = count + 1 WHERE scope IN ('t/' || NEW.tenant, 's/' || NEW.session_id); END;
CREATE TRIGGER artifacts_uncounted AFTER DELETE ON artifacts BEGIN UPDATE storage_totals SET bytes = bytes - OLD.size, count = count - 1 WHERE scope IN ('t/' || OLD.tenant, 's/' || OLD.session_id); END;

CREATE TABLE signing_keys (
  kid TEXT PRIMARY KEY,
  secret TEXT NOT NULL,
  created_at TEXT NOT NULL,
  retired_at TEXT
);

CREATE TABLE sweep_positions (
  name TEXT PRIMARY KEY,
  position TEXT NOT NULL
);

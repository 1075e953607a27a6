CREATE TABLE snapshots (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  session_id TEXT NOT NULL,
  -- 'writing' until its manifest is stored, then 'ready'.
  state TEXT NOT NULL,
  name TEXT,
  request_key TEXT,
  digest TEXT,
  summary TEXT,
  new_bytes INTEGER NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
);

CREATE UNIQUE INDEX snapshots_once ON snapshots (session_id, request_key) WHERE request_key IS NOT NULL;
CREATE INDEX snapshots_by_tenant ON snapshots (tenant, id);
CREATE INDEX snapshots_by_session ON snapshots (session_id, id);
CREATE INDEX snapshots_by_expiry ON snapshots (expires_at);
CREATE INDEX snapshots_by_state ON snapshots (state, created_at) WHERE state = 'writing';

-- Which content each snapshot needs, its manifest included: content that none needs goes.
CREATE TABLE snapshot_chunks (
  tenant TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  snapshot_id TEXT NOT NULL,
  size INTEGER NOT NULL,
  PRIMARY KEY (tenant, sha256, snapshot_id)
) WITHOUT ROWID;

CREATE INDEX snapshot_chunks_by_snapshot ON snapshot_chunks (snapshot_id);

-- A chunk counts for its tenant once, however many snapshots need it; each snapshot counts as one thing.
CREATE TRIGGER snapshots_within_quota BEFORE INSERT ON snapshots WHEN EXISTS (SELECT 1 FROM storage_totals WHERE scope = 't/' || NEW.tenant AND count + 1 > max_count) BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER snapshots_counted AFTER INSERT ON snapshots BEGIN UPDATE storage_totals SET count = count + 1 WHERE scope = 't/' || NEW.tenant; END;
CREATE TRIGGER snapshots_uncounted AFTER DELETE ON snapshots BEGIN UPDATE storage_totals SET count = count - 1 WHERE scope = 't/' || OLD.tenant; END;
CREATE TRIGGER snapshot_chunks_within_quota BEFORE INSERT ON snapshot_chunks WHEN NOT EXISTS (SELECT 1 FROM snapshot_chunks WHERE tenant = NEW.tenant AND sha256 = NEW.sha256) AND EXISTS (SELECT 1 FROM storage_totals WHERE scope = 't/' || NEW.tenant AND bytes + NEW.size > max_bytes) BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER snapshot_chunks_counted AFTER INSERT ON snapshot_chunks WHEN NOT EXISTS (SELECT 1 FROM snapshot_chunks WHERE tenant = NEW.tenant AND sha256 = NEW.sha256 AND snapshot_id <> NEW.snapshot_id) BEGIN UPDATE storage_totals SET bytes = bytes + NEW.size WHERE scope = 't/' || NEW.tenant; UPDATE snapshots SET new_bytes = new_bytes + NEW.size WHERE id = NEW.snapshot_id; END;
CREATE TRIGGER snapshot_chunks_uncounted AFTER DELETE ON snapshot_chunks WHEN NOT EXISTS (SELECT 1 FROM snapshot_chunks WHERE tenant = OLD.tenant AND sha256 = OLD.sha256) BEGIN UPDATE storage_totals SET bytes = bytes - OLD.size WHERE scope = 't/' || OLD.tenant; END;

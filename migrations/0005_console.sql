-- A browser that has signed in. The key stands for it: without the key's row it is worth nothing.
CREATE TABLE console_sessions (
  id TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
);

CREATE INDEX console_sessions_by_key ON console_sessions (key_id, id);
CREATE INDEX console_sessions_by_expiry ON console_sessions (expires_at);

-- A link that signs a browser in once.
CREATE TABLE console_codes (
  digest TEXT PRIMARY KEY,
  key_id TEXT NOT NULL,
  expires_at TEXT NOT NULL
);

CREATE INDEX console_codes_by_key ON console_codes (key_id, expires_at);
CREATE INDEX console_codes_by_expiry ON console_codes (expires_at);

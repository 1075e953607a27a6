CREATE TABLE dataset_sources (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  tenant TEXT,
  url_template TEXT NOT NULL,
  header_names TEXT NOT NULL,
  sealed_headers TEXT NOT NULL,
  redirect_origins TEXT NOT NULL,
  allow_private INTEGER NOT NULL,
  max_bytes INTEGER,
  timeout_s INTEGER NOT NULL,
  created_at TEXT NOT NULL
);

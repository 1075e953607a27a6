-- When a key was last used, within minutes.
ALTER TABLE api_keys ADD COLUMN last_used_at TEXT;

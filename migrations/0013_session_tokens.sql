-- Tokens for one session and some verbs; a token itself is signed and nowhere here.
CREATE TABLE session_tokens (
  id TEXT PRIMARY KEY,
  tenant TEXT NOT NULL,
  session_id TEXT NOT NULL,
  key_id TEXT NOT NULL,
  verbs TEXT NOT NULL,
  label TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_tokens_of_session ON session_tokens (session_id);

-- Grows with every key, token and sign-in that is taken back: whoever remembers some sees that there is news.
CREATE TABLE revocations (only INTEGER PRIMARY KEY CHECK (only = 1), count INTEGER NOT NULL);
INSERT INTO revocations VALUES (1, 0);

-- What a tenant may do and how much it may have; `*` stands for all tenants.
CREATE TABLE policies (
  tenant TEXT PRIMARY KEY,
  policy TEXT NOT NULL,
  updated_at TEXT NOT NULL
) WITHOUT ROWID;

-- Deliveries that were acknowledged and not read yet: who they are, not what they say.
CREATE TABLE arrival (
    id TEXT PRIMARY KEY,
    at TEXT NOT NULL
) WITHOUT ROWID;

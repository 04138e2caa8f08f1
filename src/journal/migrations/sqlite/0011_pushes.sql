-- When greenlight last heard that the head of a pull request moved, in microseconds since 1970.
CREATE TABLE push (
    pull_request TEXT PRIMARY KEY,
    at           INTEGER NOT NULL
) WITHOUT ROWID;

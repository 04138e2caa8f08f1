-- Who is signed in to the page. `key` is a digest of the cookie, so that nobody who reads this can use it; `ends` is in
-- microseconds since 1970.
CREATE TABLE session (
    key     TEXT PRIMARY KEY,
    account INTEGER NOT NULL,
    login   TEXT NOT NULL,
    ends    INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX session_of ON session (account, ends);
CREATE INDEX session_end ON session (ends);

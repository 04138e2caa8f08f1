-- Runs that somebody watches in some process.
CREATE UNLOGGED TABLE watched (
    run   TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    until TIMESTAMPTZ NOT NULL
);

-- What models say in these runs, for half a minute; the journal has it for good. PostgreSQL empties the table after a
-- crash. `chunk` is JSON.
CREATE UNLOGGED TABLE said (
    nth    BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run    TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    holder TEXT NOT NULL,
    chunk  TEXT NOT NULL,
    at     TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX said_in ON said (run, nth);
CREATE INDEX said_at ON said (at);

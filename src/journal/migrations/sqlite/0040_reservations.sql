-- What runs may still spend of limits that they share, in the order in which they reserved it. Only for runs that are
-- being worked on: emptied at every start.
CREATE TABLE reservation (
    nth        INTEGER PRIMARY KEY AUTOINCREMENT,
    run        TEXT NOT NULL UNIQUE,
    repository TEXT NOT NULL,
    -- The fencing token of its lane, where several processes share the work.
    token      BIGINT,
    amount     TEXT NOT NULL,
    spent      TEXT NOT NULL
);

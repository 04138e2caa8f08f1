-- What runs may still spend of limits that they share, in the order in which they reserved it. A reservation lasts as
-- long as the lease under which it was made.
CREATE TABLE reservation (
    nth        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run        TEXT NOT NULL UNIQUE,
    repository TEXT NOT NULL,
    token      BIGINT,
    amount     TEXT NOT NULL,
    spent      TEXT NOT NULL
);
CREATE INDEX reservation_in ON reservation (repository);

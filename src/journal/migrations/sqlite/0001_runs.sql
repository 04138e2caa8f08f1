-- Deliveries that were accepted; `done` when their work is. A redelivery keeps its id and is not accepted twice.
CREATE TABLE delivery (
    id       TEXT PRIMARY KEY,
    event    TEXT NOT NULL,
    received TEXT NOT NULL,
    done     INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX delivery_open ON delivery (received) WHERE done = 0;

-- One row a run; everything else about it is in its steps.
CREATE TABLE run (
    id         TEXT PRIMARY KEY,
    repository TEXT NOT NULL,
    number     INTEGER NOT NULL,
    started    TEXT NOT NULL,
    is_over    INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX run_of ON run (repository, number);
CREATE INDEX run_open ON run (started) WHERE is_over = 0;

-- Append-only: a step has its place, and a place is taken once.
CREATE TABLE step (
    run   TEXT NOT NULL REFERENCES run (id),
    place INTEGER NOT NULL,
    step  TEXT NOT NULL,
    PRIMARY KEY (run, place)
) WITHOUT ROWID;

-- The tables of the journal, as they are in SQLite. Times are text, and sort as text does there.

-- Deliveries that were accepted; `done` when their work is. A redelivery keeps its id and is not accepted twice.
CREATE TABLE delivery (
    id       TEXT PRIMARY KEY,
    nth      BIGINT GENERATED ALWAYS AS IDENTITY,
    event    TEXT NOT NULL,
    received TEXT COLLATE "C" NOT NULL,
    done     BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX delivery_open ON delivery (received, nth) WHERE done = 0;

-- One row a run; everything else about it is in its steps. A repository_id of NULL: only the name is known. 0: the
-- repository that had this name is gone.
CREATE TABLE run (
    id            TEXT PRIMARY KEY,
    nth           BIGINT GENERATED ALWAYS AS IDENTITY,
    repository    TEXT NOT NULL,
    repository_id BIGINT,
    number        BIGINT NOT NULL,
    started       TEXT COLLATE "C" NOT NULL,
    is_over       BIGINT NOT NULL DEFAULT 0,
    unreadable    BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX run_of ON run (repository_id, number);
CREATE INDEX run_newest ON run (repository_id, started DESC, nth DESC);
CREATE INDEX run_of_name ON run (lower(repository), number) WHERE repository_id IS NULL;
CREATE INDEX run_open ON run (started, nth) WHERE is_over = 0;

-- Append-only: a step has its place, and a place is taken once. `brief`: without what a model said.
CREATE TABLE step (
    run    TEXT NOT NULL REFERENCES run (id),
    place  BIGINT NOT NULL,
    step   TEXT NOT NULL,
    brief  TEXT,
    format BIGINT NOT NULL,
    PRIMARY KEY (run, place)
);

-- A repository is known by GitHub's id; the name, and the installation that reaches it, are how to address it now.
CREATE TABLE repository (
    id           BIGINT PRIMARY KEY,
    name         TEXT NOT NULL,
    installation BIGINT
);

-- Runs with how their repository is addressed now.
CREATE VIEW addressed AS
SELECT run.*, known.name AS name, known.installation AS installation
FROM run LEFT JOIN repository AS known ON known.id = run.repository_id;

-- Up to when a recurring task was done, such as looking for missed deliveries.
CREATE TABLE mark (
    name TEXT PRIMARY KEY,
    at   TEXT NOT NULL
);

-- When the head of a pull request last moved, in microseconds since 1970.
CREATE TABLE push (
    pull_request TEXT PRIMARY KEY,
    at           BIGINT NOT NULL
);

-- Deliveries that were acknowledged and not read yet: who they are, not what they say.
CREATE TABLE arrival (
    id TEXT PRIMARY KEY,
    at TEXT COLLATE "C" NOT NULL
);

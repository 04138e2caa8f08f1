-- The owner of a repository, in lower case, whose repositories may hold a limited number of lanes.
ALTER TABLE turn ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX turn_owner ON turn (owner);

-- The labels that a worker must have for a piece of work, as a JSON array.
ALTER TABLE work ADD COLUMN needs TEXT NOT NULL DEFAULT '[]';
CREATE INDEX work_needs ON work (needs) WHERE needs <> '[]';

-- Processes with workers, and their labels as a JSON array.
CREATE TABLE worker (
    holder TEXT PRIMARY KEY,
    labels TEXT NOT NULL,
    until  TIMESTAMPTZ NOT NULL
);

-- A repository is known by GitHub's id; the name, and the installation that reaches it, are how to address it now.
CREATE TABLE repository (
    id           INTEGER PRIMARY KEY,
    name         TEXT NOT NULL,
    installation INTEGER
);

-- NULL: only the name is known, in `repository`. 0: the repository that had this name is gone.
ALTER TABLE run ADD COLUMN repository_id INTEGER;
DROP INDEX run_of;
CREATE INDEX run_of ON run (repository_id, number);
CREATE INDEX run_of_name ON run (repository COLLATE NOCASE, number) WHERE repository_id IS NULL;

-- Runs with how their repository is addressed now.
CREATE VIEW addressed AS
SELECT run.rowid AS nth, run.*, known.name AS name, known.installation AS installation
FROM run LEFT JOIN repository AS known ON known.id = run.repository_id;

-- When a step was appended, in microseconds since 1970. NULL in what versions before this column wrote.
ALTER TABLE step ADD COLUMN at BIGINT;

-- What people told greenlight to forget about a repository: the id of a fix or a rejection, or '' for everything until
-- then. `at` is in microseconds since 1970.
CREATE TABLE forgotten (
    repository TEXT NOT NULL,
    entry      TEXT NOT NULL,
    at         BIGINT NOT NULL,
    login      TEXT NOT NULL,
    PRIMARY KEY (repository, entry)
);

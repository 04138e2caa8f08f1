-- The oldest version of the tables, by its newest migration, whose programs can still use them. Only a migration that
-- changes what programs of the version before rely on raises it, to its own number.
CREATE TABLE compatibility (
    oldest BIGINT NOT NULL
);
INSERT INTO compatibility (oldest) VALUES (6);

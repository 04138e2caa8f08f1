-- Until when GitHub accepts no requests of an installation, because a process met a secondary limit.
CREATE TABLE github_pause (
    installation BIGINT PRIMARY KEY,
    until        TIMESTAMPTZ NOT NULL
);

-- Work waits in lanes, one piece after the other. A process holds a lane for a limited time, and extends it.
CREATE TABLE lane (
    name         TEXT PRIMARY KEY,
    repository   TEXT NOT NULL,
    pull_request TEXT NOT NULL,
    -- What the present holder took it for.
    class        BIGINT NOT NULL DEFAULT 0,
    holder       TEXT,
    token        BIGINT,
    until        TIMESTAMPTZ
);
CREATE INDEX lane_held ON lane (repository) WHERE until IS NOT NULL;
CREATE INDEX lane_holder ON lane (holder) WHERE holder IS NOT NULL;
-- Tokens only grow, also when a lane is deleted and made again.
CREATE SEQUENCE fencing_token AS BIGINT;

-- A piece of work: a delivery, one of the parts of a delivery, or a run that is to be resumed.
CREATE TABLE work (
    nth          BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    lane         TEXT NOT NULL REFERENCES lane (name),
    repository   TEXT NOT NULL,
    pull_request TEXT NOT NULL,
    class        BIGINT NOT NULL,
    delivery     TEXT REFERENCES delivery (id) ON DELETE CASCADE,
    -- A part of a delivery; otherwise the delivery has the event.
    event        TEXT,
    run          TEXT UNIQUE REFERENCES run (id) ON DELETE CASCADE,
    -- How many steps the run had when it was last left, and how often it was left with as many.
    length       BIGINT NOT NULL DEFAULT 0,
    tries        BIGINT NOT NULL DEFAULT 0,
    not_before   TIMESTAMPTZ NOT NULL DEFAULT now(),
    UNIQUE (delivery, lane)
);
CREATE INDEX work_of ON work (repository, class, nth);
CREATE INDEX work_in ON work (lane, nth);
CREATE INDEX work_about ON work (pull_request) WHERE run IS NOT NULL;

-- Repositories take turns.
CREATE TABLE turn (
    repository TEXT PRIMARY KEY,
    served     TIMESTAMPTZ NOT NULL DEFAULT '-infinity'
);
CREATE INDEX turn_next ON turn (served);

-- Deliveries that may stop a run at once, for whichever process is at work on it. Kept for a minute.
CREATE TABLE interrupt (
    -- The work of the delivery. Only what began before it is stopped.
    nth          BIGINT PRIMARY KEY,
    pull_request TEXT NOT NULL,
    repository   TEXT NOT NULL,
    event        TEXT NOT NULL,
    at           TIMESTAMPTZ NOT NULL DEFAULT now()
);
CREATE INDEX interrupt_of ON interrupt (pull_request, at);

-- When the newest command to cancel a pull request's run arrived, in microseconds since 1970. What was asked for
-- earlier does not begin.
CREATE TABLE cancelled (
    pull_request TEXT PRIMARY KEY,
    at           BIGINT NOT NULL
);

-- A repository whose turn never came has a place before all others, in the order of arrival. With a place for each, the
-- next turn is the first entry of an index, however many repositories wait.
ALTER TABLE turn ALTER COLUMN served SET DEFAULT clock_timestamp() - interval '1000 years';
UPDATE turn SET served = COALESCE(
    (SELECT to_timestamp(min(work.turn_at) / 1e6) FROM work WHERE work.repository = turn.repository), clock_timestamp()
) - interval '1000 years' WHERE served = '-infinity';

-- Whether anything is due.
CREATE INDEX work_due ON work (class, not_before);

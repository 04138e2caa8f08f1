-- When a piece of work has its turn among those of its repository and class, in microseconds since 1970: when it
-- arrived, or later if it is large.
ALTER TABLE work ADD COLUMN turn_at BIGINT NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint;
CREATE INDEX work_in_turn ON work (repository, class, turn_at, nth);

-- The labels that its tests were found to need, as a JSON array. Workers that lack them leave the work to those that
-- have them, as long as there are any.
ALTER TABLE work ADD COLUMN prefers TEXT NOT NULL DEFAULT '[]';
ALTER TABLE turn ADD COLUMN prefers TEXT NOT NULL DEFAULT '[]';

-- When to look at an open run again if no step is appended meanwhile, in microseconds since 1970; 0 is now.
ALTER TABLE run ADD COLUMN due BIGINT NOT NULL DEFAULT 0;
-- The kind of request that it waits for, and since when, in microseconds since 1970.
ALTER TABLE run ADD COLUMN waits_for TEXT;
ALTER TABLE run ADD COLUMN waits_since BIGINT;
CREATE INDEX run_waits ON run (waits_for, waits_since) WHERE is_over = 0 AND waits_for IS NOT NULL;

-- When to look at an open run again if no step is appended meanwhile, in microseconds since 1970; 0 is now.
ALTER TABLE run ADD COLUMN due INTEGER NOT NULL DEFAULT 0;
-- The kind of request that it waits for, and since when, in microseconds since 1970.
ALTER TABLE run ADD COLUMN waits_for TEXT;
ALTER TABLE run ADD COLUMN waits_since INTEGER;
CREATE INDEX run_due ON run (due) WHERE is_over = 0;
CREATE INDEX run_waits ON run (waits_for, waits_since) WHERE is_over = 0 AND waits_for IS NOT NULL;

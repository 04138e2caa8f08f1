-- In which format a step is written; see src/journal/format.rs. Steps of versions before this column are in the first.
ALTER TABLE step ADD COLUMN format INTEGER NOT NULL DEFAULT 1;
-- Whether the run was ended because its first step cannot be read.
ALTER TABLE run ADD COLUMN unreadable INTEGER NOT NULL DEFAULT 0;

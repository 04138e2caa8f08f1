//! What SQLite and PostgreSQL express differently.

/// Which database it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Marks a run as over. $1 is its id.
    pub(super) fn run_is_over(self) -> &'static [&'static str] {
        match self {
            Self::Sqlite => &["UPDATE run SET is_over = 1 WHERE id = $1"],
            Self::Postgres => &[
                "UPDATE run SET is_over = 1 WHERE id = $1",
                "DELETE FROM work WHERE run = $1",
            ],
        }
    }

    /// Selects unfinished deliveries, oldest first. $1 is how many.
    pub(super) fn unfinished(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT id, event FROM delivery WHERE done = 0 ORDER BY received, rowid LIMIT $1",
            Self::Postgres => "SELECT id, event FROM delivery WHERE done = 0 ORDER BY received, nth LIMIT $1",
        }
    }

    /// Selects the reservations in a repository that were made before another one and still hold. $1 is the key of
    /// the repository, and $2 the number of the other one.
    pub(super) fn earlier_reservations(self) -> &'static str {
        match self {
            Self::Sqlite => "SELECT run, amount, spent FROM reservation WHERE repository = $1 AND nth < $2",
            Self::Postgres => {
                "SELECT run, amount, spent FROM reservation JOIN lane ON lane.token = reservation.token \
                 AND lane.until >= now() WHERE reservation.repository = $1 AND nth < $2"
            }
        }
    }

    /// Selects the repository names of runs without an id, each with an installation. $1 is how many.
    pub(super) fn unidentified(self) -> &'static str {
        match self {
            Self::Sqlite => {
                "SELECT run.repository AS name, MAX(run.rowid), CASE WHEN json_valid(step.step) \
                 THEN json_extract(step.step, '$.started.installation') END AS installation FROM run JOIN step ON \
                 step.run = run.id AND step.place = 0 \
                 WHERE run.repository_id IS NULL GROUP BY run.repository LIMIT $1"
            }
            Self::Postgres => {
                "SELECT DISTINCT ON (run.repository) run.repository AS name, \
                 (step.step::json #>> '{started,installation}')::bigint AS installation FROM run JOIN step ON \
                 step.run = run.id AND step.place = 0 \
                 WHERE run.repository_id IS NULL ORDER BY run.repository, run.nth DESC LIMIT $1"
            }
        }
    }

    /// Selects the steps of some runs, the newest run first. Of what a model said, only the usage. $1 names the runs; if it
    /// names a repository, $2 is how many.
    ///
    /// PostgreSQL's functions refuse JSON with `\u0000`, which tests print, so there the short form is stored beside
    /// the step.
    pub(super) fn runs_without_transcripts(self, of: BriefOf) -> String {
        let step = match self {
            Self::Sqlite => {
                "CASE WHEN substr(step.step, 1, 8) <> '{\"said\":' OR NOT json_valid(step.step) THEN step.step \
                   WHEN json_type(step.step, '$.said.reply') = 'object' THEN json_object('said', json_object('reply', \
                     json_object('usage', json_extract(step.step, '$.said.reply.usage')))) \
                   WHEN json_type(step.step, '$.said') IS NOT NULL THEN '{\"said\":null}' \
                   ELSE step.step END"
            }
            Self::Postgres => "COALESCE(step.brief, step.step)",
        };
        // One condition for each, so that an index has the runs in their order.
        let runs = match of {
            BriefOf::Repository => "repository_id = $1 ORDER BY started DESC, nth DESC LIMIT $2",
            BriefOf::Name => {
                "repository_id IS NULL AND lower(repository) = lower($1) ORDER BY started DESC, nth DESC LIMIT $2"
            }
            BriefOf::Run => "id = $1",
        };
        format!(
            "SELECT run.id, run.repository_id, run.name, run.installation, step.format, step.at, {step} AS step \
             FROM (SELECT * FROM addressed WHERE {runs}) AS run JOIN step ON step.run = run.id \
             ORDER BY run.started DESC, run.nth DESC, step.place"
        )
    }
}

/// Which runs are read without their transcripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BriefOf {
    /// The newest of the repository with this id.
    Repository,
    /// The newest that are recorded under this name alone.
    Name,
    /// The one with this id.
    Run,
}

//! Runs without their steps, for lists: which there are, and how many steps each has. Nothing is folded, so that this
//! takes the same time no matter how many runs the journal has, or how long they are.

use jiff::Timestamp;
use sqlx::any::AnyRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::columns::{self, broken};
use super::database::Database;
use super::{Error, Journal, StoredStep};
use crate::domain::id::{InstallationId, Repository, RepositoryId, RunId};
use crate::domain::run::{Run, Step};

/// What is known about a run without its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunRow {
    pub id: RunId,
    /// As it is called now.
    pub repository: Repository,
    /// `None` if it is only known from the start of the run.
    pub installation: Option<InstallationId>,
    /// When it started, as text: a run that was deleted and began anew differs in it.
    pub started: String,
    /// The number of steps.
    pub length: usize,
}

impl Journal {
    /// The newest runs that are not over, at most `limit`, oldest first. Git refs list none.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_rows(&self, limit: usize) -> Result<Vec<RunRow>, Error> {
        match self {
            Self::Database(database) => database.open_rows(limit).await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// The newest runs of a repository, at most `limit`. Git refs list none.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn rows_in(&self, repository: &Repository, limit: usize) -> Result<Vec<RunRow>, Error> {
        match self {
            Self::Database(database) => database.rows_in(repository, limit).await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// One run. `None` if it does not exist, and with git refs.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn row(&self, id: &RunId) -> Result<Option<RunRow>, Error> {
        match self {
            Self::Database(database) => database.row(id).await,
            Self::Refs(_) => Ok(None),
        }
    }

    /// One run whose transcript has only the usage of each reply, and when it ended, as in [`Self::ended_at`]. `None` if
    /// it cannot be read, and with git refs.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn brief(&self, id: &RunId) -> Result<Option<(Run, Option<Timestamp>)>, Error> {
        match self {
            Self::Database(database) => database.brief(id).await,
            Self::Refs(_) => Ok(None),
        }
    }

    /// When a run of this many steps ended. `None` if it has not, if it was written by a version that recorded no
    /// times, or if much has happened to its proposal since.
    ///
    /// # Errors
    /// When the database cannot be read.
    pub async fn ended_at(&self, id: &RunId, length: usize) -> Result<Option<Timestamp>, Error> {
        let newest = self
            .steps(id, length.saturating_sub(AFTER_THE_END), AFTER_THE_END)
            .await?;
        let is_end = |stored: &&StoredStep| matches!(stored.step(), Ok(Some(Step::Ended(_))));
        Ok(newest.iter().rev().find(is_end).and_then(|stored| stored.at))
    }
}

/// How many steps at the end of a run are searched for the one that ended it.
pub(super) const AFTER_THE_END: usize = 8;

/// Selects rows; a condition follows.
const ROWS: &str = "SELECT id, repository_id, COALESCE(name, repository) AS of_name, installation, started, \
                    (SELECT MAX(place) FROM step WHERE step.run = addressed.id) AS newest FROM addressed WHERE ";

impl Database {
    async fn open_rows(&self, limit: usize) -> Result<Vec<RunRow>, Error> {
        let statement = format!("{ROWS} is_over = 0 ORDER BY started DESC, nth DESC LIMIT $1");
        let rows = sqlx::query(AssertSqlSafe(statement))
            .bind(i64::try_from(limit).map_err(broken)?)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        rows.iter().rev().map(RunRow::of).collect()
    }

    async fn rows_in(&self, repository: &Repository, limit: usize) -> Result<Vec<RunRow>, Error> {
        const NEWEST: &str = "ORDER BY started DESC, nth DESC LIMIT $2";
        let limit = i64::try_from(limit).map_err(broken)?;
        let rows = match columns::number(repository.id)? {
            Some(id) => sqlx::query(AssertSqlSafe(format!("{ROWS} repository_id = $1 {NEWEST}"))).bind(id),
            None => {
                let of_name = "repository_id IS NULL AND lower(repository) = lower($1)";
                sqlx::query(AssertSqlSafe(format!("{ROWS} {of_name} {NEWEST}"))).bind(repository.name.to_string())
            }
        };
        let rows = rows.bind(limit).fetch_all(&self.pool).await;
        rows.map_err(broken)?.iter().map(RunRow::of).collect()
    }

    async fn row(&self, id: &RunId) -> Result<Option<RunRow>, Error> {
        let row = sqlx::query(AssertSqlSafe(format!("{ROWS} id = $1")))
            .bind(&id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        row.as_ref().map(RunRow::of).transpose()
    }
}

impl RunRow {
    /// Whether both are the same run with the same steps, in a repository that is called the same.
    pub fn is_same(&self, other: &Self) -> bool {
        self == other && self.repository.name == other.repository.name
    }

    fn of(row: &AnyRow) -> Result<Self, Error> {
        let id: Option<i64> = row.try_get("repository_id").map_err(broken)?;
        let id = id.map(|id| u64::try_from(id).map(RepositoryId)).transpose();
        let name: String = row.try_get("of_name").map_err(broken)?;
        let newest: Option<i64> = row.try_get("newest").map_err(broken)?;
        Ok(Self {
            id: RunId(row.try_get("id").map_err(broken)?),
            repository: Repository {
                id: id.map_err(broken)?,
                name: name.parse().map_err(broken)?,
            },
            installation: columns::installation(row)?,
            started: row.try_get("started").map_err(broken)?,
            length: newest
                .map_or(Ok(0), |place| usize::try_from(place + 1))
                .map_err(broken)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Account;
    use crate::domain::run::End;

    const STARTED: &str = r#"{"started":{"run":"RUN","pull_request":{"repository_id":NUMBER,"repository":"acme/rail-NUMBER","number":3},"installation":77,"head":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","base":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb","origin":{"ci":{"workflow_run":null}},"consent":"none","approvers":1,"gate_seconds":60,"at":"AT"}}"#;

    async fn begin(journal: &Journal, run: &str, number: u64, at: &str) -> Run {
        let started = STARTED
            .replace("RUN", run)
            .replace("NUMBER", &number.to_string())
            .replace("AT", at);
        let Step::Started(started) = serde_json::from_str(&started).unwrap() else {
            panic!("a start");
        };
        journal.begin(*started).await.unwrap()
    }

    fn names(rows: &[RunRow]) -> Vec<(&str, usize)> {
        rows.iter().map(|row| (row.id.0.as_str(), row.length)).collect()
    }

    #[tokio::test]
    async fn rows_say_how_far_runs_are_and_how_their_repositories_are_called() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::Database(Database::open(&folder.path().join("j.db")).await.unwrap());
        begin(&journal, "r1", 1, "2026-03-01T10:00:00Z").await;
        let mut two = begin(&journal, "r2", 1, "2026-03-02T10:00:00Z").await;
        begin(&journal, "r3", 2, "2026-03-03T10:00:00Z").await;
        let end = Step::Ended(End::Cancelled { by: None });
        journal.append(&mut two, end).await.unwrap();
        journal.append(&mut two, Step::Announced).await.unwrap();

        let called = Repository {
            id: Some(RepositoryId(1)),
            name: "acme/tube".parse().unwrap(),
        };
        journal.know(&called, Some(InstallationId(78))).await.unwrap();
        let known = journal.repositories(10).await.unwrap();
        let known: Vec<String> = known.iter().map(|repository| repository.name.to_string()).collect();
        assert_eq!(known, ["acme/rail-2", "acme/tube"]);
        assert_eq!(journal.repositories(1).await.unwrap().len(), 1);
        let rows = journal.rows_in(&called, 10).await.unwrap();
        assert_eq!(names(&rows), [("r2", 3), ("r1", 1)]);
        assert_eq!(
            (rows[0].repository.name.to_string(), rows[0].installation),
            ("acme/tube".into(), Some(InstallationId(78)))
        );
        assert_eq!(names(&journal.rows_in(&called, 1).await.unwrap()), [("r2", 3)]);
        // What is over is not open, also if it is old.
        assert_eq!(names(&journal.open_rows(10).await.unwrap()), [("r1", 1), ("r3", 1)]);
        assert_eq!(journal.row(&RunId("r2".into())).await.unwrap().unwrap(), rows[0]);
        assert_eq!(journal.row(&RunId("r9".into())).await.unwrap(), None);
        let whole = journal.find(&RunId("r2".into())).await.unwrap();
        assert!(whole.is_some());
        let brief = journal.brief(&RunId("r2".into())).await.unwrap();
        let ended = journal.ended_at(&RunId("r2".into()), 3).await.unwrap();
        assert!(ended.is_some());
        assert_eq!(brief, whole.map(|run| (run, ended)));
        assert_eq!(journal.runs_in(&called, 10).await.unwrap().len(), 2);
        let steps = journal.steps(&RunId("r2".into()), 1, 10).await.unwrap();
        assert_eq!(steps.len(), 2);
        assert!(steps[0].at.is_some() && steps[0].at <= steps[1].at, "{steps:?}");
    }

    #[tokio::test]
    async fn what_is_forgotten_is_of_one_repository_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::Database(Database::open(&folder.path().join("j.db")).await.unwrap());
        let of = |id| Repository {
            id: Some(RepositoryId(id)),
            name: "acme/rail".parse().unwrap(),
        };
        let (by, at) = (Account::new("mia"), "2026-03-01T10:00:00Z".parse().unwrap());
        journal.forget_entry(&of(1), Some("ab12"), (&by, at)).await.unwrap();
        journal.forget_entry(&of(1), Some("ab12"), (&by, at)).await.unwrap();
        let forgotten = journal.forgotten(&of(1)).await.unwrap();
        assert_eq!((forgotten.all, forgotten.entries.get("ab12")), (None, Some(&at)));
        assert!(journal.forgotten(&of(2)).await.unwrap().entries.is_empty());
        journal.forget_entry(&of(1), None, (&by, at)).await.unwrap();
        let forgotten = journal.forgotten(&of(1)).await.unwrap();
        assert_eq!((forgotten.all, forgotten.entries.len()), (Some(at), 0));
        journal.forget(&of(1)).await.unwrap();
        assert_eq!(journal.forgotten(&of(1)).await.unwrap().all, None);
    }
}

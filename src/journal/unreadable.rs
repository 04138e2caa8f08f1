//! Runs that cannot be read, because a newer greenlight wrote them or their start is broken. They do not affect other
//! runs, are listed, and are logged once.

use sqlx::Row as _;

use super::columns::{broken, number};
use super::database::Database;
use super::format::{FORMAT, Newer, Unread};
use super::{Error, Journal};
use crate::domain::id::{PullRequestId, Repository, RunId};

/// How many unreadable runs are listed.
const MAX_LISTED: i64 = 100;

/// A run that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    pub run: RunId,
    /// The number of its pull request.
    pub number: u64,
    /// Whether it is known to be over.
    pub is_over: bool,
    pub why: Unread,
}

impl Journal {
    /// The unreadable runs of a repository, or of one of its pull requests, newest first. With git refs, only those
    /// of the pull request.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn unreadable(&self, repository: &Repository, of: Option<u64>) -> Result<Vec<Unreadable>, Error> {
        match (self, of) {
            (Self::Database(database), of) => database.unreadable(repository, of).await,
            (Self::Refs(refs), Some(number)) => {
                let repository = repository.clone();
                refs.unreadable(&PullRequestId { repository, number }).await
            }
            (Self::Refs(_), None) => Ok(Vec::new()),
        }
    }

    /// Fails if a newer greenlight works on this pull request, so that this one does nothing there.
    ///
    /// # Errors
    /// [`Error::Newer`], or when the journal cannot be read.
    pub async fn refuse_newer(&self, id: &PullRequestId) -> Result<(), Error> {
        let unreadable = self.unreadable(&id.repository, Some(id.number)).await?;
        for unreadable in unreadable.iter().filter(|run| !run.is_over) {
            if let Unread::Newer(newer) = unreadable.why {
                return Err(Error::Newer(format!("run {}", unreadable.run), newer));
            }
        }
        Ok(())
    }
}

impl Database {
    async fn unreadable(&self, repository: &Repository, of: Option<u64>) -> Result<Vec<Unreadable>, Error> {
        let rows = sqlx::query(
            "SELECT run.id, run.number, run.is_over, MAX(step.format) AS format FROM addressed AS run JOIN step ON step.run = run.id \
             WHERE (run.repository_id = $1 OR ($1 IS NULL AND run.repository_id IS NULL AND \
             lower(run.repository) = lower($2))) \
             AND ($3 IS NULL OR run.number = $3) GROUP BY run.id, run.number, \
             run.is_over, run.unreadable, run.started, run.nth HAVING MAX(step.format) > $4 OR run.unreadable = 1 \
             ORDER BY run.started DESC, run.nth DESC LIMIT $5",
        )
        .bind(number(repository.id)?)
        .bind(repository.name.to_string())
        .bind(of.map(i64::try_from).transpose().map_err(broken)?)
        .bind(i64::from(FORMAT))
        .bind(MAX_LISTED)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        rows.iter()
            .map(|row| {
                let (id, number, format): (String, i64, i64) = (
                    row.try_get("id").map_err(broken)?,
                    row.try_get("number").map_err(broken)?,
                    row.try_get("format").map_err(broken)?,
                );
                let format = u32::try_from(format).unwrap_or(u32::MAX);
                Ok(Unreadable {
                    run: RunId(id),
                    number: u64::try_from(number).map_err(broken)?,
                    is_over: row.try_get::<i64, _>("is_over").map_err(broken)? != 0,
                    why: if format > FORMAT {
                        Newer(format).into()
                    } else {
                        Unread::NoStart
                    },
                })
            })
            .collect()
    }

    /// Ends runs whose start cannot be read, because their pull request is unknown.
    pub(super) async fn end_without_start(&self, runs: &[String]) -> Result<(), Error> {
        for run in runs {
            sqlx::query("UPDATE run SET is_over = 1, unreadable = 1 WHERE id = $1")
                .bind(run)
                .execute(&self.pool)
                .await
                .map_err(broken)?;
            tracing::error!(run.id = run, "a run was ended: {}", Unread::NoStart);
        }
        Ok(())
    }
}

//! Runs that are not over, a page at a time: most of them wait for people, and there may be very many.

use jiff::Timestamp;
use sqlx::Row as _;

use super::columns::broken;
use super::database::Database;
use super::rows::{self, Folded};
use super::{Error, Journal};
use crate::domain::run::Run;

/// Where a page of runs ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageEnd {
    started: String,
    due: i64,
    nth: i64,
}

/// The gates of one kind that are open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenGate {
    pub kind: String,
    pub number: i64,
    /// When the oldest was opened.
    pub since: Option<Timestamp>,
}

/// A page of runs that are not over, oldest first.
const OLDEST: &str = "SELECT run.*, step.step, step.format FROM (SELECT *, CAST(0 AS BIGINT) AS due_at FROM addressed \
                      WHERE is_over = 0 AND started >= $1 AND (started > $1 OR nth > $2) ORDER BY started, nth LIMIT $3) \
                      AS run JOIN step ON step.run = run.id ORDER BY run.started, run.nth, step.place";
/// A page of runs that are due, the longest due first.
const DUE: &str = "SELECT run.*, step.step, step.format FROM (SELECT addressed.*, open.due AS due_at FROM run AS open \
                   JOIN addressed ON addressed.id = open.id WHERE open.is_over = 0 AND open.due >= $1 AND open.due <= $2 \
                   AND (open.due > $1 OR addressed.nth > $3) ORDER BY open.due, addressed.nth LIMIT $4) AS run \
                   JOIN step ON step.run = run.id ORDER BY run.due_at, run.nth, step.place";

impl Journal {
    /// At most `limit` runs that are not over, from where a page ended: oldest first, or, if there is a moment, only those
    /// that are due then, the longest due first. `None` after the last page. Git refs list none.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_page(
        &self,
        due: Option<Timestamp>,
        after: Option<&PageEnd>,
        limit: usize,
    ) -> Result<(Vec<Run>, Option<PageEnd>), Error> {
        match self {
            Self::Database(database) => database.open_page(due, after, limit).await,
            Self::Refs(_) => Ok((Vec::new(), None)),
        }
    }

    /// Notes what a run waits for, and when to look at it again.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn note_wait(&self, run: &Run) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.note_wait(run).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// The gates that are open, by their kinds. A run with several counts once.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn open_gates(&self) -> Result<Vec<OpenGate>, Error> {
        match self {
            Self::Database(database) => database.open_gates().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }
}

impl Database {
    async fn open_page(
        &self,
        due: Option<Timestamp>,
        after: Option<&PageEnd>,
        limit: usize,
    ) -> Result<(Vec<Run>, Option<PageEnd>), Error> {
        let rows = match due {
            None => sqlx::query(OLDEST).bind(after.map_or("", |after| &after.started)),
            Some(now) => sqlx::query(DUE)
                .bind(after.map_or(i64::MIN, |after| after.due))
                .bind(now.as_microsecond()),
        }
        .bind(after.map_or(0, |after| after.nth))
        .bind(i64::try_from(limit).map_err(broken)?)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        let end = match rows.last() {
            Some(last) => Some(PageEnd {
                started: last.try_get("started").map_err(broken)?,
                due: last.try_get("due_at").map_err(broken)?,
                nth: last.try_get("nth").map_err(broken)?,
            }),
            None => None,
        };
        let Folded { runs, without_start } = rows::fold(&rows, &self.told);
        self.end_without_start(&without_start).await?;
        Ok((runs, end))
    }

    async fn note_wait(&self, run: &Run) -> Result<(), Error> {
        let gates = run.open_gates();
        let due = gates.iter().map(|gate| gate.expires).min();
        let oldest = gates.iter().min_by_key(|gate| gate.opened);
        // Only if the run did not advance since it was read.
        sqlx::query(
            "UPDATE run SET due = $2, waits_for = $3, waits_since = $4 WHERE id = $1 \
             AND $5 = (SELECT max(place) + 1 FROM step WHERE step.run = $1)",
        )
        .bind(&run.id().0)
        .bind(due.map_or(0, Timestamp::as_microsecond))
        .bind(oldest.map(|gate| gate.kind.name()))
        .bind(oldest.map(|gate| gate.opened.as_microsecond()))
        .bind(i64::try_from(run.length).map_err(broken)?)
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    async fn open_gates(&self) -> Result<Vec<OpenGate>, Error> {
        let rows = sqlx::query(
            "SELECT waits_for, count(*) AS number, min(waits_since) AS since FROM run \
             WHERE is_over = 0 AND waits_for IS NOT NULL GROUP BY waits_for",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        rows.iter()
            .map(|row| {
                let since: Option<i64> = row.try_get("since").map_err(broken)?;
                Ok(OpenGate {
                    kind: row.try_get("waits_for").map_err(broken)?,
                    number: row.try_get("number").map_err(broken)?,
                    since: since.and_then(|since| Timestamp::from_microsecond(since).ok()),
                })
            })
            .collect()
    }
}

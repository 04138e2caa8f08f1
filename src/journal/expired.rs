//! What [`Journal::prune_deliveries`] and [`Journal::prune_some_runs`] would delete.

use jiff::Timestamp;

use super::columns::broken;
use super::database::Database;
use super::{Error, Journal};
use crate::domain::id::RunId;

/// What is old enough to be deleted.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Expired {
    pub deliveries: u64,
    pub runs: Vec<RunId>,
    /// The bytes of their steps.
    pub bytes: u64,
}

impl Journal {
    /// What [`Self::prune_deliveries`] and [`Self::prune_some_runs`] would delete with these moments.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn expired(&self, deliveries_before: Timestamp, runs_before: Timestamp) -> Result<Expired, Error> {
        match self {
            Self::Database(database) => database.expired(deliveries_before, runs_before).await,
            Self::Refs(_) => Ok(Expired::default()),
        }
    }
}

impl Database {
    async fn expired(&self, deliveries_before: Timestamp, runs_before: Timestamp) -> Result<Expired, Error> {
        let deliveries: i64 = sqlx::query_scalar("SELECT count(*) FROM delivery WHERE done = 1 AND received < $1")
            .bind(deliveries_before.to_string())
            .fetch_one(&self.pool)
            .await
            .map_err(broken)?;
        let before = runs_before.to_string();
        let runs = sqlx::query_scalar("SELECT id FROM run WHERE is_over = 1 AND started < $1")
            .bind(&before)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        // A sum of PostgreSQL is a decimal number unless it is cast.
        let bytes: i64 = sqlx::query_scalar(
            "SELECT CAST(COALESCE(SUM(octet_length(step.step)), 0) AS BIGINT) FROM step JOIN run ON run.id = step.run \
             WHERE run.is_over = 1 AND run.started < $1",
        )
        .bind(&before)
        .fetch_one(&self.pool)
        .await
        .map_err(broken)?;
        Ok(Expired {
            deliveries: u64::try_from(deliveries).map_err(broken)?,
            runs: runs.into_iter().map(RunId).collect(),
            bytes: u64::try_from(bytes).map_err(broken)?,
        })
    }
}

//! The processes that have workers, in PostgreSQL, and their labels.

use super::Error;
use super::columns::broken;
use super::database::Database;
use crate::domain::id::PullRequestId;
use crate::domain::worker_labels::WorkerLabels;

/// How many kinds of work without a worker are reported.
const MAX_REPORTED: i64 = 20;

/// A process that claims lanes.
#[derive(Debug, Clone)]
pub struct Claimant {
    /// A name that no other process has or had.
    pub holder: String,
    pub labels: WorkerLabels,
    /// How many lanes of a repository all processes together may hold for work that needs workers.
    pub per_repository: usize,
    /// The same for all repositories of an owner. `None` if there is no limit.
    pub per_owner: Option<usize>,
}

impl Database {
    /// Registers a process with workers, for half a minute.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn register(&self, claimant: &Claimant) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO worker (holder, labels, until) VALUES ($1, $2, now() + interval '30 seconds') \
             ON CONFLICT (holder) DO UPDATE SET until = excluded.until",
        )
        .bind(&claimant.holder)
        .bind(json(&claimant.labels)?)
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    /// Whether a process with workers has these labels now.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn has_worker(&self, needs: &WorkerLabels) -> Result<bool, Error> {
        let found = sqlx::query("SELECT 1 FROM worker WHERE until > now() AND $1::jsonb <@ labels::jsonb LIMIT 1")
            .bind(json(needs)?)
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        Ok(found.is_some())
    }

    /// Notes which programs the tests of a pull request were found to need, for its work, and, if it `is_typical`, for
    /// work that arrives later in its repository.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn found_to_need(&self, of: &PullRequestId, needs: &WorkerLabels, is_typical: bool) -> Result<(), Error> {
        let needs = json(needs)?;
        sqlx::query("UPDATE work SET prefers = $2 WHERE pull_request = $1 AND class > 0 AND prefers <> $2")
            .bind(of.key())
            .bind(&needs)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        if is_typical {
            sqlx::query("UPDATE turn SET prefers = $2 WHERE repository = $1 AND prefers <> $2")
                .bind(of.repository.key())
                .bind(&needs)
                .execute(&self.pool)
                .await
                .map_err(broken)?;
        }
        Ok(())
    }

    /// What due work needs and no process with workers has.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn without_worker(&self) -> Result<Vec<WorkerLabels>, Error> {
        let needs: Vec<String> = sqlx::query_scalar(
            "SELECT DISTINCT needs FROM work WHERE needs <> '[]' AND not_before <= now() AND NOT EXISTS \
             (SELECT 1 FROM worker WHERE until > now() AND work.needs::jsonb <@ labels::jsonb) \
             ORDER BY needs LIMIT $1",
        )
        .bind(MAX_REPORTED)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        needs
            .iter()
            .map(|needs| serde_json::from_str(needs).map_err(broken))
            .collect()
    }
}

pub(super) fn json(labels: &WorkerLabels) -> Result<String, Error> {
    serde_json::to_string(labels).map_err(broken)
}

/// The condition that a process with these labels may do a piece of work: it has what the work needs, and what the tests
/// were found to need, unless no process has that.
pub(super) fn suits(work: &str, labels: &str) -> String {
    format!(
        "({work}.needs = '[]' OR {work}.needs::jsonb <@ {labels}::jsonb) AND ({work}.prefers = '[]' \
         OR {work}.prefers::jsonb <@ {labels}::jsonb OR NOT EXISTS (SELECT 1 FROM worker WHERE worker.until > now() \
         AND ({work}.prefers::jsonb || {work}.needs::jsonb) <@ worker.labels::jsonb))"
    )
}

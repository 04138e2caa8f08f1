//! Records when the head of a pull request last moved, as reported by deliveries, and when its run was last cancelled.
//!
//! The content of a delivery is deleted once it is done. The time of a push is kept, because a command consents only
//! to the code that its author could see.

use jiff::Timestamp;

use super::columns::broken;
use super::database::Database;
use super::{Error, Journal};
use crate::domain::id::PullRequestId;

impl Database {
    pub(super) async fn was_pushed_since(&self, id: &PullRequestId, moment: Timestamp) -> Result<bool, Error> {
        let found = sqlx::query("SELECT 1 FROM push WHERE pull_request = $1 AND at >= $2")
            .bind(id.key())
            .bind(moment.as_microsecond())
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        Ok(found.is_some())
    }
}

impl Journal {
    /// Records that a command cancelled the run of a pull request, for the other processes that share the journal.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn note_cancel(&self, id: &PullRequestId, at: Timestamp) -> Result<(), Error> {
        let Some(database) = self.shared() else { return Ok(()) };
        sqlx::query(
            "INSERT INTO cancelled (pull_request, at) VALUES ($1, $2) ON CONFLICT (pull_request) DO UPDATE \
             SET at = GREATEST(cancelled.at, excluded.at)",
        )
        .bind(id.key())
        .bind(at.as_microsecond())
        .execute(&database.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    /// Whether any process recorded a command to cancel that arrived after this moment.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn was_cancelled_after(&self, id: &PullRequestId, moment: Timestamp) -> Result<bool, Error> {
        let Some(database) = self.shared() else {
            return Ok(false);
        };
        let found = sqlx::query("SELECT 1 FROM cancelled WHERE pull_request = $1 AND at > $2")
            .bind(id.key())
            .bind(moment.as_microsecond())
            .fetch_optional(&database.pool)
            .await
            .map_err(broken)?;
        Ok(found.is_some())
    }
}

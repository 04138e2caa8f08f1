//! Records when the head of a pull request last moved, as reported by deliveries.
//!
//! The content of a delivery is deleted once it is done. The time of a push is kept, because a command consents only
//! to the code that its author could see.

use jiff::Timestamp;

use super::Error;
use super::columns::broken;
use super::sqlite::Sqlite;
use crate::domain::event::{Event, Fact};
use crate::domain::id::PullRequestId;

impl Sqlite {
    /// Records the time of a push, if the admitted event is one.
    pub(super) async fn note_push(&self, event: &Event) -> Result<(), Error> {
        let Fact::PullRequestPushed { pull_request, .. } = &event.fact else {
            return Ok(());
        };
        sqlx::query(
            "INSERT INTO push (pull_request, at) VALUES (?, ?) \
             ON CONFLICT (pull_request) DO UPDATE SET at = max(at, excluded.at)",
        )
        .bind(pull_request.key())
        .bind(event.received.as_microsecond())
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    pub(super) async fn was_pushed_since(&self, id: &PullRequestId, moment: Timestamp) -> Result<bool, Error> {
        let found = sqlx::query("SELECT 1 FROM push WHERE pull_request = ? AND at >= ?")
            .bind(id.key())
            .bind(moment.as_microsecond())
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        Ok(found.is_some())
    }
}

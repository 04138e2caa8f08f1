//! Pauses that GitHub asked one of several processes for, in PostgreSQL.

use std::time::Duration;

use sqlx::Row as _;

use super::Error;
use super::columns::broken;
use super::database::Database;

impl Database {
    /// Tells the other processes that GitHub accepts no requests of an installation for this long.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn share_pause(&self, installation: u64, length: Duration) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO github_pause (installation, until) VALUES ($1, now() + $2 * interval '1 millisecond') \
             ON CONFLICT (installation) DO UPDATE SET until = GREATEST(github_pause.until, excluded.until)",
        )
        .bind(i64::try_from(installation).map_err(broken)?)
        .bind(i64::try_from(length.as_millis()).map_err(broken)?)
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    /// The pauses that are not over, each with the number of its installation, and how much longer it lasts.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn pauses(&self) -> Result<Vec<(u64, Duration)>, Error> {
        let rows = sqlx::query(
            "SELECT installation, (extract(epoch FROM until - now()) * 1000)::bigint AS left_ms FROM github_pause \
             WHERE until > now()",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        rows.iter()
            .map(|row| {
                let installation: i64 = row.try_get("installation").map_err(broken)?;
                let left: i64 = row.try_get("left_ms").map_err(broken)?;
                let left = Duration::from_millis(u64::try_from(left).map_err(broken)?);
                Ok((u64::try_from(installation).map_err(broken)?, left))
            })
            .collect()
    }
}

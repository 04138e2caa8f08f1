//! Deliveries that were acknowledged before they were read, because they are large. Only the fact that they must be
//! read is stored, not their content. After a restart, unread ones are requested again.

use jiff::Timestamp;
use sqlx::Row as _;

use super::columns::broken;
use super::database::Database;
use super::{Admission, Error, Journal};
use crate::domain::id::DeliveryId;

impl Journal {
    /// Records that a delivery arrived and has not been read yet.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn arrive(&self, id: &DeliveryId) -> Result<Admission, Error> {
        match self {
            Self::Database(database) => database.arrive(id).await,
            Self::Refs(_) => Ok(Admission::New),
        }
    }

    /// The deliveries that arrived and have not been read yet, and when they arrived.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn unread(&self) -> Result<Vec<(DeliveryId, Timestamp)>, Error> {
        match self {
            Self::Database(database) => database.unread().await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// Records that a delivery was read. The work it causes was admitted before.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn has_read(&self, id: &DeliveryId) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.has_read(id).await,
            Self::Refs(_) => Ok(()),
        }
    }
}

impl Database {
    async fn arrive(&self, id: &DeliveryId) -> Result<Admission, Error> {
        let written = sqlx::query("INSERT INTO arrival (id, at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING")
            .bind(&id.0)
            .bind(self.now().to_string())
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(match written.rows_affected() {
            1 => Admission::New,
            _ => Admission::Known,
        })
    }

    async fn unread(&self) -> Result<Vec<(DeliveryId, Timestamp)>, Error> {
        let rows = sqlx::query("SELECT id, at FROM arrival ORDER BY at")
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        rows.iter()
            .map(|row| {
                let at: String = row.try_get("at").map_err(broken)?;
                Ok((
                    DeliveryId(row.try_get("id").map_err(broken)?),
                    at.parse().map_err(broken)?,
                ))
            })
            .collect()
    }

    async fn has_read(&self, id: &DeliveryId) -> Result<(), Error> {
        sqlx::query("DELETE FROM arrival WHERE id = $1")
            .bind(&id.0)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }
}

//! What runs that are being worked on may still spend of the limits that they share.

use sqlx::Row as _;

use super::Error;
use super::columns::broken;
use super::database::Database;
use super::dialect::Dialect;
use crate::domain::id::{Repository, RunId};
use crate::domain::spend::Spend;
use crate::lease;

/// An amount that a run may spend, and that nobody else may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    pub run: RunId,
    pub amount: Spend,
    /// What the run had spent when it reserved the amount.
    pub spent: Spend,
}

impl Database {
    /// Reserves an amount, in place of what the run reserved before, and returns the earlier reservations of others
    /// in its repository. Of two runs that reserve at the same time, one sees the other.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn reserve(&self, repository: &Repository, of: &Reservation) -> Result<Vec<Reservation>, Error> {
        let token = lease::current().map(|lease| lease.token);
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        if self.dialect == Dialect::Postgres {
            // Numbers become visible in their order.
            sqlx::query("SELECT pg_advisory_xact_lock(hashtext('greenlight reservations ' || $1))::text")
                .bind(repository.key())
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        sqlx::query("DELETE FROM reservation WHERE run = $1")
            .bind(&of.run.0)
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        let nth: i64 = sqlx::query_scalar(
            "INSERT INTO reservation (run, repository, token, amount, spent) VALUES ($1, $2, $3, $4, $5) RETURNING nth",
        )
        .bind(&of.run.0)
        .bind(repository.key())
        .bind(token)
        .bind(json(&of.amount)?)
        .bind(json(&of.spent)?)
        .fetch_one(&mut *transaction)
        .await
        .map_err(broken)?;
        transaction.commit().await.map_err(broken)?;
        let rows = sqlx::query(self.dialect.earlier_reservations())
            .bind(repository.key())
            .bind(nth)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        rows.iter().map(reservation).collect()
    }

    /// Ends a run's reservation, once what it spent is recorded.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn end_reservation(&self, run: &RunId) -> Result<(), Error> {
        sqlx::query("DELETE FROM reservation WHERE run = $1")
            .bind(&run.0)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }

    /// Ends all reservations. For a process that has just started and shares its work with no other.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn end_reservations(&self) -> Result<(), Error> {
        sqlx::query("DELETE FROM reservation")
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }
}

fn reservation(row: &sqlx::any::AnyRow) -> Result<Reservation, Error> {
    let spend = |column: &str| {
        let text: String = row.try_get(column).map_err(broken)?;
        serde_json::from_str(&text).map_err(broken)
    };
    Ok(Reservation {
        run: RunId(row.try_get("run").map_err(broken)?),
        amount: spend("amount")?,
        spent: spend("spent")?,
    })
}

fn json(spend: &Spend) -> Result<String, Error> {
    serde_json::to_string(spend).map_err(broken)
}

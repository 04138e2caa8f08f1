//! Deletes old deliveries and runs, and everything about a repository that is gone.
//!
//! Deleted data is overwritten in the file, and the write-ahead log is emptied afterwards.

use jiff::Timestamp;

use super::columns::{broken, number};
use super::database::Database;
use super::dialect::Dialect;
use super::{Error, Journal};
use crate::domain::id::{Repository, RunId};

/// How many rows one statement deletes. SQLite has one connection, and deliveries wait for it meanwhile.
const BATCH: usize = 500;

impl Journal {
    /// Up to when a recurring task was done. `None` if it never was. Git refs store no such marks.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn mark(&self, name: &'static str) -> Result<Option<Timestamp>, Error> {
        match self {
            Self::Database(database) => database.mark(name).await,
            Self::Refs(_) => Ok(None),
        }
    }

    /// Records up to when a task was done.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn set_mark(&self, name: &'static str, at: Timestamp) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.set_mark(name, at).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// Deletes the deliveries that are done, if they are older than a moment, and what else is only kept for as long.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn prune_deliveries(&self, before: Timestamp) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.prune_deliveries(before).await,
            Self::Refs(_) => Ok(()),
        }
    }

    /// Deletes some of the runs that are over and older than a moment, and returns their ids. None are left if it
    /// deleted none.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn prune_some_runs(&self, before: Timestamp) -> Result<Vec<RunId>, Error> {
        match self {
            Self::Database(database) => database.prune_some_runs(before).await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// Deletes everything about a repository. Returns the ids of its runs.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn forget(&self, repository: &Repository) -> Result<Vec<RunId>, Error> {
        match self {
            Self::Database(database) => database.forget(repository).await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }

    /// Overwrites deleted data that remains in the write-ahead log.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn empty_the_log(&self) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.empty_the_log().await,
            Self::Refs(_) => Ok(()),
        }
    }
}

impl Database {
    async fn mark(&self, name: &str) -> Result<Option<Timestamp>, Error> {
        let at: Option<String> = sqlx::query_scalar("SELECT at FROM mark WHERE name = $1")
            .bind(name)
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        at.map(|at| at.parse().map_err(broken)).transpose()
    }

    async fn set_mark(&self, name: &str, at: Timestamp) -> Result<(), Error> {
        sqlx::query("INSERT INTO mark (name, at) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET at = excluded.at")
            .bind(name)
            .bind(at.to_string())
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }

    async fn prune_deliveries(&self, before: Timestamp) -> Result<(), Error> {
        loop {
            let deleted = sqlx::query(
                "DELETE FROM delivery WHERE id IN (SELECT id FROM delivery WHERE done = 1 AND received < $1 LIMIT $2)",
            )
            .bind(before.to_string())
            .bind(i64::try_from(BATCH).map_err(broken)?)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
            if deleted.rows_affected() == 0 {
                break;
            }
        }
        sqlx::query("DELETE FROM push WHERE at < $1")
            .bind(before.as_microsecond())
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        if self.dialect == Dialect::Postgres {
            sqlx::query("DELETE FROM interrupt WHERE at < to_timestamp($1::double precision / 1e6)")
                .bind(before.as_microsecond())
                .execute(&self.pool)
                .await
                .map_err(broken)?;
        }
        Ok(())
    }

    async fn prune_some_runs(&self, before: Timestamp) -> Result<Vec<RunId>, Error> {
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        let runs: Vec<String> = sqlx::query_scalar("SELECT id FROM run WHERE is_over = 1 AND started < $1 LIMIT $2")
            .bind(before.to_string())
            .bind(i64::try_from(BATCH).map_err(broken)?)
            .fetch_all(&mut *transaction)
            .await
            .map_err(broken)?;
        if runs.is_empty() {
            // Of the runs that these are about, none is left.
            sqlx::query("DELETE FROM forgotten WHERE at < $1")
                .bind(before.as_microsecond())
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
            transaction.commit().await.map_err(broken)?;
            return Ok(Vec::new());
        }
        let places: Vec<String> = (1..=runs.len()).map(|place| format!("${place}")).collect();
        let places = places.join(", ");
        for statement in [
            format!("DELETE FROM step WHERE run IN ({places})"),
            format!("DELETE FROM run WHERE id IN ({places})"),
        ] {
            let mut delete = sqlx::query(sqlx::AssertSqlSafe(statement));
            for run in &runs {
                delete = delete.bind(run);
            }
            delete.execute(&mut *transaction).await.map_err(broken)?;
        }
        transaction.commit().await.map_err(broken)?;
        Ok(runs.into_iter().map(RunId).collect())
    }

    async fn forget(&self, repository: &Repository) -> Result<Vec<RunId>, Error> {
        let unfinished = self.unfinished().await?;
        let id = number(repository.id)?;
        let name = repository.name.to_string();
        let key = format!("comment {}#", repository.key());
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        // Runs of earlier versions were recorded under a name alone.
        let meant = "(repository_id = $1 OR (repository_id IS NULL AND lower(repository) = lower($2)))";
        let runs = format!("SELECT id FROM run WHERE {meant}");
        let runs = sqlx::query_scalar(sqlx::AssertSqlSafe(runs))
            .bind(id)
            .bind(&name)
            .fetch_all(&mut *transaction)
            .await
            .map_err(broken)?;
        for statement in [
            format!("DELETE FROM step WHERE run IN (SELECT id FROM run WHERE {meant})"),
            format!("DELETE FROM run WHERE {meant}"),
            "DELETE FROM repository WHERE id = $1 AND $2 <> ''".into(),
        ] {
            sqlx::query(sqlx::AssertSqlSafe(statement))
                .bind(id)
                .bind(&name)
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        sqlx::query("DELETE FROM delivery WHERE substr(id, 1, length($1)) = $1")
            .bind(key)
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        sqlx::query("DELETE FROM push WHERE substr(pull_request, 1, length($1)) = $1")
            .bind(format!("{}#", repository.key()))
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        sqlx::query("DELETE FROM forgotten WHERE repository = $1")
            .bind(repository.key())
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        if self.dialect == Dialect::Postgres {
            for statement in [
                "DELETE FROM delivery WHERE id IN (SELECT delivery FROM work WHERE repository = $1)",
                "DELETE FROM work WHERE repository = $1",
                "DELETE FROM interrupt WHERE repository = $1",
                "DELETE FROM cancelled WHERE substr(pull_request, 1, length($1) + 1) = $1 || '#'",
                "DELETE FROM lane WHERE repository = $1 AND until IS NULL",
                "DELETE FROM turn WHERE repository = $1",
            ] {
                sqlx::query(statement)
                    .bind(repository.key())
                    .execute(&mut *transaction)
                    .await
                    .map_err(broken)?;
            }
        }
        for (id, event) in unfinished {
            if event.repository().is_some_and(|its| its.may_be(repository)) {
                sqlx::query("DELETE FROM delivery WHERE id = $1")
                    .bind(&id.0)
                    .execute(&mut *transaction)
                    .await
                    .map_err(broken)?;
            }
        }
        transaction.commit().await.map_err(broken)?;
        self.empty_the_log().await?;
        Ok(runs.into_iter().map(RunId).collect())
    }

    /// Moves the content of SQLite's write-ahead log into the database and empties it, because it still contains
    /// deleted data.
    async fn empty_the_log(&self) -> Result<(), Error> {
        if self.dialect != Dialect::Sqlite {
            return Ok(());
        }
        sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)")
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }
}

//! What people who look at a journal need: to read it while another process uses it, and to find its repositories.
//! Nothing in here writes.

use std::path::Path;

use secrecy::{ExposeSecret as _, SecretString};
use sqlx::{Executor as _, Row as _};

use super::columns::broken;
use super::database::Database;
use super::dialect::Dialect;
use super::{Error, Journal};
use crate::domain::id::{Repository, RepositoryId};

/// Makes the database refuse every statement that would write.
const SQLITE: &str = "PRAGMA query_only = ON";
const POSTGRES: &str = "SET default_transaction_read_only = on";
/// Repositories with runs, the one with the newest run first. Those that are gone are left out. Their ids are found one
/// after the other in an index, so that the number of runs does not matter.
const REPOSITORIES: &str = "WITH RECURSIVE known (id) AS (SELECT MIN(repository_id) FROM run WHERE repository_id > 0 \
                            UNION ALL SELECT (SELECT MIN(repository_id) FROM run WHERE repository_id > known.id) \
                            FROM known WHERE known.id IS NOT NULL) \
                            SELECT known.id AS repository_id, COALESCE((SELECT name FROM repository WHERE \
                            repository.id = known.id), (SELECT repository FROM run WHERE run.repository_id = known.id \
                            ORDER BY started DESC LIMIT 1)) AS of_name, (SELECT MAX(started) FROM run WHERE \
                            run.repository_id = known.id) AS newest FROM known WHERE known.id IS NOT NULL \
                            UNION ALL SELECT NULL, repository, MAX(started) FROM run WHERE repository_id IS NULL \
                            GROUP BY repository ORDER BY newest DESC LIMIT $1";

impl Journal {
    /// The repositories with runs, at most `limit`, the one with the newest run first. Git refs list none.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn repositories(&self, limit: usize) -> Result<Vec<Repository>, Error> {
        match self {
            Self::Database(database) => database.repositories(limit).await,
            Self::Refs(_) => Ok(Vec::new()),
        }
    }
}

impl Database {
    /// Opens an existing SQLite file for reading. Its tables stay as they are.
    ///
    /// # Errors
    /// When it is not a database.
    pub async fn look(file: &Path) -> Result<Self, Error> {
        let of_file = |error: &dyn std::fmt::Display| Error::Broken(format!("{}: {error}", file.display()));
        let path = percent_encoding::utf8_percent_encode(
            file.to_str().ok_or_else(|| of_file(&"the path is not UTF-8"))?,
            percent_encoding::NON_ALPHANUMERIC,
        );
        // With `mode=ro`, SQLite could not create the shared memory that readers of a write-ahead log need.
        let url = format!("sqlite:{path}?mode=rw");
        let connected = Self::connected(&url, Dialect::Sqlite).await;
        let database = connected.map_err(|error| of_file(&error))?;
        // There is a single connection.
        let only_reading = database.pool.execute(SQLITE).await;
        only_reading.map_err(|error| of_file(&error))?;
        Ok(database)
    }

    /// Connects to PostgreSQL for reading.
    ///
    /// # Errors
    /// When the database does not respond.
    pub async fn look_at(url: &SecretString) -> Result<Self, Error> {
        let database = Self::connected(url.expose_secret(), Dialect::Postgres).await;
        let database = database.map_err(broken)?;
        database.pool.execute(POSTGRES).await.map_err(broken)?;
        Ok(database)
    }

    async fn repositories(&self, limit: usize) -> Result<Vec<Repository>, Error> {
        let rows = sqlx::query(REPOSITORIES)
            .bind(i64::try_from(limit).map_err(broken)?)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        let repository = |row: &sqlx::any::AnyRow| {
            let id: Option<i64> = row.try_get("repository_id").map_err(broken)?;
            let name: String = row.try_get("of_name").map_err(broken)?;
            let id = id.map(|id| u64::try_from(id).map(RepositoryId)).transpose();
            Ok(Repository {
                id: id.map_err(broken)?,
                name: name.parse().map_err(broken)?,
            })
        };
        rows.iter().map(repository).collect()
    }
}

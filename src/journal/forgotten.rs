//! What people told greenlight to forget about a repository. The runs stay as they are; what they taught does not count.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::Row as _;

use super::columns::broken;
use super::database::Database;
use super::{Error, Journal};
use crate::domain::id::{Account, Repository};
use crate::domain::memory::Forgotten;

/// How many entries of a repository are read at most, the newest first: more than the page shows of a memory.
const MAX_ENTRIES: i64 = 1_000;

impl Journal {
    /// What was forgotten about a repository. Git refs record nothing of that.
    ///
    /// # Errors
    /// When the journal cannot be read.
    pub async fn forgotten(&self, repository: &Repository) -> Result<Forgotten, Error> {
        match self {
            Self::Database(database) => database.forgotten(repository).await,
            Self::Refs(_) => Ok(Forgotten::default()),
        }
    }

    /// Forgets the fix or the rejection with this id, as of that moment; without an id, everything.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub async fn forget_entry(
        &self,
        repository: &Repository,
        entry: Option<&str>,
        (by, at): (&Account, Timestamp),
    ) -> Result<(), Error> {
        match self {
            Self::Database(database) => database.forget_entry(repository, entry, (by, at)).await,
            Self::Refs(_) => Ok(()),
        }
    }
}

impl Database {
    async fn forgotten(&self, repository: &Repository) -> Result<Forgotten, Error> {
        let rows = sqlx::query("SELECT entry, at FROM forgotten WHERE repository = $1 ORDER BY at DESC LIMIT $2")
            .bind(repository.key())
            .bind(MAX_ENTRIES)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        let mut forgotten = Forgotten {
            all: None,
            entries: BTreeMap::new(),
        };
        for row in &rows {
            let entry: String = row.try_get("entry").map_err(broken)?;
            let at = Timestamp::from_microsecond(row.try_get("at").map_err(broken)?).map_err(broken)?;
            match entry.as_str() {
                "" => forgotten.all = Some(at),
                _ => {
                    forgotten.entries.insert(entry, at);
                }
            }
        }
        Ok(forgotten)
    }

    async fn forget_entry(
        &self,
        repository: &Repository,
        entry: Option<&str>,
        (by, at): (&Account, Timestamp),
    ) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        if entry.is_none() {
            sqlx::query("DELETE FROM forgotten WHERE repository = $1")
                .bind(repository.key())
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        sqlx::query(
            "INSERT INTO forgotten (repository, entry, at, login) VALUES ($1, $2, $3, $4) ON CONFLICT (repository, entry) \
             DO UPDATE SET at = excluded.at, login = excluded.login",
        )
        .bind(repository.key())
        .bind(entry.unwrap_or_default())
        .bind(at.as_microsecond())
        .bind(by.to_string())
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        transaction.commit().await.map_err(broken)
    }
}

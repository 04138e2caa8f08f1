//! How repositories are addressed now, and which runs belong to them.

use jiff::Timestamp;
use sqlx::Row as _;

use super::columns::{broken, installation, number};
use super::database::Database;
use super::{Error, Unidentified};
use crate::domain::id::{InstallationId, Repository, RepositoryName};

/// How many repository names are looked up at a time.
const MAX_UNIDENTIFIED: i64 = 1_000;

impl Database {
    /// Records the current name and installation of a repository.
    pub(super) async fn know(
        &self,
        repository: &Repository,
        installation: Option<InstallationId>,
    ) -> Result<(), Error> {
        let Some(id) = number(repository.id)? else {
            return Ok(());
        };
        let installation = installation.map(|InstallationId(id)| i64::try_from(id)).transpose();
        sqlx::query(
            "INSERT INTO repository (id, name, installation) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE \
             SET name = $2, installation = $3 WHERE repository.name <> $2 OR repository.installation IS DISTINCT FROM $3",
        )
        .bind(id)
        .bind(repository.name.to_string())
        .bind(installation.map_err(broken)?)
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    /// The repository names of runs that were recorded without an id.
    pub(super) async fn unidentified(&self) -> Result<Vec<Unidentified>, Error> {
        let rows = sqlx::query(self.dialect.unidentified())
            .bind(MAX_UNIDENTIFIED)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        rows.iter()
            .map(|row| {
                let name: String = row.try_get("name").map_err(broken)?;
                Ok(Unidentified {
                    name: name.parse().map_err(broken)?,
                    installation: installation(row)?,
                })
            })
            .collect()
    }

    /// Files runs that only have a name under the repository with this name. Runs that are older than the repository
    /// were about another one, which can no longer be found, so they end.
    pub(super) async fn identify(
        &self,
        name: &RepositoryName,
        is: &Repository,
        created: Option<Timestamp>,
    ) -> Result<(), Error> {
        let Some(id) = number(is.id)? else { return Ok(()) };
        let (name, created) = (name.to_string(), created.unwrap_or(Timestamp::MIN).to_string());
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        for statement in [
            "UPDATE run SET repository_id = $2 WHERE repository_id IS NULL AND lower(repository) = lower($1) AND \
             started >= $3",
            "UPDATE run SET repository_id = 0, is_over = 1 WHERE repository_id IS NULL AND lower(repository) = \
             lower($1) AND $2 > 0 AND started < $3",
            // Comments that were handled stay marked as such; see `Event::identity`.
            "UPDATE delivery SET id = 'comment @' || $2 || substr(id, length('comment ' || $1) + 1) \
             WHERE lower(substr(id, 1, length('comment ' || $1) + 1)) = lower('comment ' || $1 || '#') AND received \
             >= $3 AND NOT EXISTS (SELECT 1 FROM delivery AS other WHERE other.id = 'comment @' || $2 || \
             substr(delivery.id, length('comment ' || $1) + 1))",
        ] {
            sqlx::query(statement)
                .bind(&name)
                .bind(id)
                .bind(&created)
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        transaction.commit().await.map_err(broken)
    }
}

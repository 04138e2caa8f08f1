//! The journal in SQLite, with a write-ahead log and a single writing connection. Every commit is on disk before it
//! counts.

use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::migrate::MigrateError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous};

use super::columns::{broken, installation, number};
use super::format::FORMAT;
use super::migrations::migrator;
use super::once::ReportedOnce;
use super::rows::{self, Folded};
use super::{Admission, Error, Unidentified};
use crate::domain::event::Event;
use crate::domain::id::{DeliveryId, InstallationId, PullRequestId, Repository, RepositoryName, RunId};
use crate::domain::run::{Run, Started, Step};
use crate::private;

/// How many unfinished deliveries a restart resumes at most.
const MAX_UNFINISHED: i64 = 10_000;
/// How many repository names are looked up at a time.
const MAX_UNIDENTIFIED: i64 = 1_000;

#[derive(Clone)]
pub struct Sqlite {
    pub(super) pool: SqlitePool,
    /// The unreadable data that was already logged.
    pub(super) told: ReportedOnce,
}

impl Sqlite {
    /// Opens the database, creating it or migrating its tables if necessary.
    ///
    /// # Errors
    /// When the file cannot be created, is not a database, or is newer than this program.
    pub async fn open(file: &Path) -> Result<Self, Error> {
        if let Some(folder) = file.parent() {
            private::folder(folder).map_err(|error| Error::Broken(format!("{}: {error}", folder.display())))?;
        }
        // SQLite gives the files beside it the same permissions, see <https://www.sqlite.org/src/file/src/os_unix.c>
        // (findCreateFileMode).
        private::file()
            .open(file)
            .map_err(|error| Error::Broken(format!("{}: {error}", file.display())))?;
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            // Overwrite deleted data.
            .pragma("secure_delete", "ON")
            .busy_timeout(Duration::from_secs(10));
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(30))
            .connect_with(options)
            .await
            .map_err(|error| Error::Broken(format!("{}: {error}", file.display())))?;
        migrator().run(&pool).await.map_err(|error| match error {
            MigrateError::VersionMissing(_) => Error::Broken(format!(
                "{}: a newer version of greenlight wrote it: upgrade greenlight, or start with another database",
                file.display()
            )),
            error => broken(error),
        })?;
        let told = ReportedOnce::default();
        Ok(Self { pool, told })
    }

    /// Whether the database responds.
    pub async fn is_well(&self) -> bool {
        sqlx::query("SELECT 1").execute(&self.pool).await.is_ok()
    }

    pub(super) async fn admit(&self, id: &DeliveryId, event: &Event) -> Result<Admission, Error> {
        let json = serde_json::to_string(event).map_err(broken)?;
        let written =
            sqlx::query("INSERT INTO delivery (id, event, received) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING")
                .bind(&id.0)
                .bind(json)
                .bind(jiff::Timestamp::now().to_string())
                .execute(&self.pool)
                .await
                .map_err(broken)?;
        self.note_push(event).await?;
        Ok(if written.rows_affected() == 1 {
            Admission::New
        } else {
            Admission::Known
        })
    }

    pub(super) async fn knows(&self, id: &DeliveryId) -> Result<bool, Error> {
        let found = sqlx::query("SELECT 1 FROM delivery WHERE id = ?")
            .bind(&id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        Ok(found.is_some())
    }

    pub(super) async fn finish(&self, id: &DeliveryId) -> Result<(), Error> {
        sqlx::query("UPDATE delivery SET done = 1, event = '' WHERE id = ?")
            .bind(&id.0)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }

    pub(super) async fn unfinished(&self) -> Result<Vec<(DeliveryId, Event)>, Error> {
        let rows = sqlx::query("SELECT id, event FROM delivery WHERE done = 0 ORDER BY received, rowid LIMIT ?")
            .bind(MAX_UNFINISHED)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        let mut deliveries = Vec::new();
        for row in rows {
            let id: String = row.try_get("id").map_err(broken)?;
            let event: String = row.try_get("event").map_err(broken)?;
            match serde_json::from_str(&event) {
                Ok(event) => deliveries.push((DeliveryId(id), event)),
                Err(_) if self.told.is_news(&id) => tracing::error!(delivery.id = id, "a delivery cannot be read"),
                Err(_) => {}
            }
        }
        Ok(deliveries)
    }

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
            "INSERT INTO repository (id, name, installation) VALUES (?1, ?2, ?3) ON CONFLICT (id) DO UPDATE \
             SET name = ?2, installation = ?3 WHERE name <> ?2 OR installation IS NOT ?3",
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
        let rows = sqlx::query(
            "SELECT run.repository AS name, MAX(run.rowid), CASE WHEN json_valid(step.step) \
             THEN json_extract(step.step, '$.started.installation') END AS installation FROM run JOIN step ON \
             step.run = run.id AND step.place = 0 \
             WHERE run.repository_id IS NULL GROUP BY run.repository LIMIT ?",
        )
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
            "UPDATE run SET repository_id = ?2 WHERE repository_id IS NULL AND repository = ?1 COLLATE NOCASE AND \
             started >= ?3",
            "UPDATE run SET repository_id = 0, is_over = 1 WHERE repository_id IS NULL AND repository = ?1 COLLATE \
             NOCASE \
             AND ?2 > 0 AND started < ?3",
            // Comments that were handled stay marked as such; see `Event::identity`.
            "UPDATE OR IGNORE delivery SET id = 'comment @' || ?2 || substr(id, length('comment ' || ?1) + 1) \
             WHERE substr(id, 1, length('comment ' || ?1) + 1) = 'comment ' || ?1 || '#' COLLATE NOCASE AND received \
             >= ?3",
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

    pub(super) async fn begin(&self, started: &Started) -> Result<(), Error> {
        let step = serde_json::to_string(&Step::Started(Box::new(started.clone()))).map_err(broken)?;
        let PullRequestId { repository, number } = super::pull_request(started)?;
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        sqlx::query(
            "INSERT INTO run (id, repository, repository_id, number, started) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) \
             DO NOTHING",
        )
        .bind(&started.run.0)
        .bind(repository.name.to_string())
        .bind(self::number(repository.id)?)
        .bind(i64::try_from(*number).map_err(broken)?)
        .bind(started.at.to_string())
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        sqlx::query(
            "INSERT INTO step (run, place, step, format) VALUES (?, 0, ?, ?) ON CONFLICT (run, place) DO NOTHING",
        )
        .bind(&started.run.0)
        .bind(step)
        .bind(FORMAT)
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        transaction.commit().await.map_err(broken)
    }

    pub(super) async fn append(&self, run: &Run, step: &Step) -> Result<(), Error> {
        let json = serde_json::to_string(step).map_err(broken)?;
        let place = i64::try_from(run.length).map_err(broken)?;
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        let insert =
            "INSERT INTO step (run, place, step, format) VALUES (?, ?, ?, ?) ON CONFLICT (run, place) DO NOTHING";
        let written = sqlx::query(insert)
            .bind(&run.id().0)
            .bind(place)
            .bind(json)
            .bind(FORMAT)
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        if written.rows_affected() != 1 {
            return Err(Error::Taken);
        }
        if *step == Step::Announced {
            sqlx::query("UPDATE run SET is_over = 1 WHERE id = ?")
                .bind(&run.id().0)
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        transaction.commit().await.map_err(broken)
    }

    pub(super) async fn runs_of(&self, pull_request: &PullRequestId) -> Result<Vec<Run>, Error> {
        let PullRequestId { repository, number } = pull_request;
        let rows = sqlx::query(
            "SELECT run.*, step.step, step.format FROM addressed AS run JOIN step ON step.run = run.id \
             WHERE run.repository_id IS ?1 AND (?1 IS NOT NULL OR run.repository = ?2 COLLATE NOCASE) \
             AND run.number = ?3 ORDER BY run.started, run.nth, step.place",
        )
        .bind(self::number(repository.id)?)
        .bind(repository.name.to_string())
        .bind(i64::try_from(*number).map_err(broken)?)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        Ok(rows::fold(&rows, &self.told).runs)
    }

    pub(super) async fn runs_in(&self, repository: &Repository, limit: usize) -> Result<Vec<Run>, Error> {
        let rows = sqlx::query(
            "SELECT run.*, step.format, CASE \
               WHEN NOT json_valid(step.step) THEN step.step \
               WHEN json_type(step.step, '$.said.reply') = 'object' THEN json_object('said', json_object('reply', \
                 json_object('usage', json_extract(step.step, '$.said.reply.usage')))) \
               WHEN json_type(step.step, '$.said') IS NOT NULL THEN '{\"said\":null}' \
               ELSE step.step END AS step \
             FROM (SELECT * FROM addressed \
               WHERE repository_id IS ?1 AND (?1 IS NOT NULL OR repository = ?2 COLLATE NOCASE) \
               ORDER BY started DESC, nth DESC LIMIT ?3) AS run \
             JOIN step ON step.run = run.id ORDER BY run.started DESC, run.nth DESC, step.place",
        )
        .bind(number(repository.id)?)
        .bind(repository.name.to_string())
        .bind(i64::try_from(limit).map_err(broken)?)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        Ok(rows::fold(&rows, &self.told).runs)
    }

    pub(super) async fn find(&self, id: &RunId) -> Result<Option<Run>, Error> {
        let rows = sqlx::query(
            "SELECT run.*, step.step, step.format FROM addressed AS run JOIN step ON step.run = run.id WHERE run.id = \
             ? ORDER BY step.place",
        )
        .bind(&id.0)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        Ok(rows::fold(&rows, &self.told).runs.pop())
    }

    pub(super) async fn steps(&self, id: &RunId, from: usize, limit: usize) -> Result<Vec<(usize, String)>, Error> {
        let rows = sqlx::query("SELECT place, step FROM step WHERE run = ? AND place >= ? ORDER BY place LIMIT ?")
            .bind(&id.0)
            .bind(i64::try_from(from).map_err(broken)?)
            .bind(i64::try_from(limit).map_err(broken)?)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        rows.iter()
            .map(|row| {
                let place: i64 = row.try_get("place").map_err(broken)?;
                Ok((
                    usize::try_from(place).map_err(broken)?,
                    row.try_get("step").map_err(broken)?,
                ))
            })
            .collect()
    }

    pub(super) async fn open_runs(&self) -> Result<Vec<Run>, Error> {
        let rows = sqlx::query(
            "SELECT run.*, step.step, step.format FROM addressed AS run JOIN step ON step.run = run.id \
             WHERE run.is_over = 0 ORDER BY run.started, run.nth, step.place",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        let Folded { runs, without_start } = rows::fold(&rows, &self.told);
        self.end_without_start(&without_start).await?;
        Ok(runs)
    }
}

#[cfg(test)]
mod tests;

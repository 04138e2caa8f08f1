//! The journal in SQLite: write-ahead log, one connection that writes, and every commit on disk before it counts.

use std::path::Path;
use std::time::Duration;

use sqlx::Row as _;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteRow, SqliteSynchronous,
};

use super::{Admission, Error};
use crate::domain::event::Event;
use crate::domain::id::{DeliveryId, PullRequestId, RepositoryName, RunId};
use crate::domain::run::{Run, Started, Step};

/// How many unfinished deliveries a restart takes up at most.
const MAX_UNFINISHED: i64 = 10_000;

#[derive(Clone)]
pub struct Sqlite {
    pool: SqlitePool,
}

fn broken(error: impl std::fmt::Display) -> Error {
    Error::Broken(error.to_string())
}

impl Sqlite {
    /// Opens the database, creating it and bringing its tables up to date.
    ///
    /// # Errors
    /// When the file cannot be created, is not a database, or is newer than this program.
    pub async fn open(file: &Path) -> Result<Self, Error> {
        if let Some(folder) = file.parent() {
            std::fs::create_dir_all(folder).map_err(|error| Error::Broken(format!("{}: {error}", folder.display())))?;
        }
        let options = SqliteConnectOptions::new()
            .filename(file)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .foreign_keys(true)
            .busy_timeout(Duration::from_secs(10));
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(Duration::from_secs(30))
            .connect_with(options)
            .await
            .map_err(|error| Error::Broken(format!("{}: {error}", file.display())))?;
        sqlx::migrate!("src/journal/migrations")
            .run(&pool)
            .await
            .map_err(broken)?;
        Ok(Self { pool })
    }

    /// Whether the database answers.
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
        Ok(if written.rows_affected() == 1 {
            Admission::New
        } else {
            Admission::Known
        })
    }

    pub(super) async fn finish(&self, id: &DeliveryId) -> Result<(), Error> {
        sqlx::query("UPDATE delivery SET done = 1 WHERE id = ?")
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
        rows.iter()
            .map(|row| {
                let event: String = row.try_get("event").map_err(broken)?;
                Ok((
                    DeliveryId(row.try_get("id").map_err(broken)?),
                    serde_json::from_str(&event).map_err(broken)?,
                ))
            })
            .collect()
    }

    pub(super) async fn begin(&self, started: &Started) -> Result<(), Error> {
        let step = serde_json::to_string(&Step::Started(Box::new(started.clone()))).map_err(broken)?;
        let number = i64::try_from(started.pull_request.number).map_err(broken)?;
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        sqlx::query(
            "INSERT INTO run (id, repository, number, started) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        )
        .bind(&started.run.0)
        .bind(started.pull_request.repository.to_string())
        .bind(number)
        .bind(started.at.to_string())
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        sqlx::query("INSERT INTO step (run, place, step) VALUES (?, 0, ?) ON CONFLICT (run, place) DO NOTHING")
            .bind(&started.run.0)
            .bind(step)
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        transaction.commit().await.map_err(broken)
    }

    pub(super) async fn append(&self, run: &Run, step: &Step) -> Result<(), Error> {
        let json = serde_json::to_string(step).map_err(broken)?;
        let place = i64::try_from(run.length).map_err(broken)?;
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        let written =
            sqlx::query("INSERT INTO step (run, place, step) VALUES (?, ?, ?) ON CONFLICT (run, place) DO NOTHING")
                .bind(&run.id().0)
                .bind(place)
                .bind(json)
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
        let rows = sqlx::query(
            "SELECT step.run AS run, step.step AS step FROM run JOIN step ON step.run = run.id \
             WHERE run.repository = ? AND run.number = ? ORDER BY run.started, run.rowid, step.place",
        )
        .bind(pull_request.repository.to_string())
        .bind(i64::try_from(pull_request.number).map_err(broken)?)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        fold(&rows)
    }

    pub(super) async fn runs_in(&self, repository: &RepositoryName, limit: usize) -> Result<Vec<Run>, Error> {
        let rows = sqlx::query(
            "SELECT step.run AS run, CASE \
               WHEN json_type(step.step, '$.said.reply') = 'object' THEN json_object('said', json_object('reply', \
                 json_object('usage', json_extract(step.step, '$.said.reply.usage')))) \
               WHEN json_type(step.step, '$.said') IS NOT NULL THEN '{\"said\":null}' \
               ELSE step.step END AS step \
             FROM (SELECT id, rowid AS nth, started FROM run WHERE repository = ? ORDER BY started DESC, rowid DESC LIMIT ?) AS recent \
             JOIN step ON step.run = recent.id ORDER BY recent.started DESC, recent.nth DESC, step.place",
        )
        .bind(repository.to_string())
        .bind(i64::try_from(limit).map_err(broken)?)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        fold(&rows)
    }

    pub(super) async fn find(&self, id: &RunId) -> Result<Option<Run>, Error> {
        let rows = sqlx::query("SELECT run, step FROM step WHERE run = ? ORDER BY place")
            .bind(&id.0)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        Ok(fold(&rows)?.pop())
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
            "SELECT step.run AS run, step.step AS step FROM run JOIN step ON step.run = run.id \
             WHERE run.is_over = 0 ORDER BY run.started, run.rowid, step.place",
        )
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        fold(&rows)
    }
}

/// Folds rows that come run by run, each in order.
fn fold(rows: &[SqliteRow]) -> Result<Vec<Run>, Error> {
    let mut runs: Vec<(String, Vec<Step>)> = Vec::new();
    for row in rows {
        let id: String = row.try_get("run").map_err(broken)?;
        let json: String = row.try_get("step").map_err(broken)?;
        let step = serde_json::from_str(&json).map_err(broken)?;
        match runs.last_mut() {
            Some((last, steps)) if *last == id => steps.push(step),
            _ => runs.push((id, vec![step])),
        }
    }
    runs.into_iter()
        .map(|(_, steps)| Run::fold(steps).map_err(broken))
        .collect()
}

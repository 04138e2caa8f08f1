//! Runs and their steps.

use futures::TryStreamExt as _;
use jiff::Timestamp;
use serde_json::{Value, json};
use sqlx::any::AnyRow;

use super::columns::{self, broken};
use super::database::Database;
use super::dialect::{BriefOf, Dialect};
use super::format::FORMAT;
use super::lanes::{Class, Waiting};
use super::rows::{self, Folded};
use super::stored_step::{MAX_SOME, SELECT_SOME, StoredStep};
use super::{Error, pieces};
use crate::domain::id::{PullRequestId, Repository, RunId};
use crate::domain::run::{Run, Started, Step};
use crate::lease;

impl Database {
    pub(super) async fn begin(&self, started: &Started) -> Result<(), Error> {
        let step = serde_json::to_string(&Step::Started(Box::new(started.clone()))).map_err(broken)?;
        let PullRequestId { repository, number } = super::pull_request(started)?;
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        sqlx::query(
            "INSERT INTO run (id, repository, repository_id, number, started) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (id) \
             DO NOTHING",
        )
        .bind(&started.run.0)
        .bind(repository.name.to_string())
        .bind(columns::number(repository.id)?)
        .bind(i64::try_from(*number).map_err(broken)?)
        .bind(started.at.to_string())
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        sqlx::query(
            "INSERT INTO step (run, place, step, format, at) VALUES ($1, 0, $2, $3, $4) ON CONFLICT (run, place) DO NOTHING",
        )
        .bind(&started.run.0)
        .bind(step)
        .bind(i64::from(FORMAT))
        .bind(self.now().as_microsecond())
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        if self.dialect == Dialect::Postgres {
            let repository_key = repository.key();
            let pull_request = format!("{repository_key}#{number}");
            let lane = lease::current().map_or_else(|| pull_request.clone(), |lease| lease.lane.clone());
            let waiting = Waiting {
                lane,
                class: Class::of_run(started.is_asked_for()),
                repository: repository_key,
                owner: repository.name.owner().to_ascii_lowercase(),
                pull_request,
                interrupts: false,
                is_small: false,
            };
            pieces::put_run(&mut transaction, &waiting, &started.run).await?;
        }
        // Last, because `put_run` locks the lane's row for writing. Two tasks that both had it locked for reading would
        // wait for each other.
        if let Some(lease) = lease::current() {
            pieces::fence(&mut transaction, &lease).await?;
        }
        transaction.commit().await.map_err(broken)
    }

    pub(super) async fn append(&self, run: &Run, step: &Step) -> Result<(), Error> {
        let json = serde_json::to_string(step).map_err(broken)?;
        let place = i64::try_from(run.length).map_err(broken)?;
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        if let Some(lease) = lease::current() {
            pieces::fence(&mut transaction, &lease).await?;
        }
        let insert = "INSERT INTO step (run, place, step, format, at) VALUES ($1, $2, $3, $4, $5) ON CONFLICT (run, place) DO NOTHING";
        let written = sqlx::query(insert)
            .bind(&run.id().0)
            .bind(place)
            .bind(&json)
            .bind(i64::from(FORMAT))
            .bind(self.now().as_microsecond())
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        if written.rows_affected() != 1 {
            return Err(Error::Taken);
        }
        if !run.open_gates().is_empty() {
            sqlx::query("UPDATE run SET due = 0 WHERE id = $1 AND due <> 0")
                .bind(&run.id().0)
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        if self.dialect == Dialect::Postgres
            && let Some(brief) = brief(&json)
        {
            sqlx::query("UPDATE step SET brief = $3 WHERE run = $1 AND place = $2")
                .bind(&run.id().0)
                .bind(place)
                .bind(brief)
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        if *step == Step::Announced {
            for over in self.dialect.run_is_over() {
                sqlx::query(*over)
                    .bind(&run.id().0)
                    .execute(&mut *transaction)
                    .await
                    .map_err(broken)?;
            }
        }
        transaction.commit().await.map_err(broken)
    }

    pub(super) async fn runs_of(&self, pull_request: &PullRequestId) -> Result<Vec<Run>, Error> {
        let PullRequestId { repository, number } = pull_request;
        let rows = sqlx::query(
            "SELECT run.*, step.step, step.format FROM addressed AS run JOIN step ON step.run = run.id \
             WHERE (run.repository_id = $1 OR ($1 IS NULL AND run.repository_id IS NULL AND \
             lower(run.repository) = lower($2))) \
             AND run.number = $3 ORDER BY run.started, run.nth, step.place",
        )
        .bind(columns::number(repository.id)?)
        .bind(repository.name.to_string())
        .bind(i64::try_from(*number).map_err(broken)?)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        Ok(rows::fold(&rows, &self.told).runs)
    }

    pub(super) async fn each_run_in(
        &self,
        repository: &Repository,
        limit: usize,
        take: &mut (dyn FnMut(Run) + Send),
    ) -> Result<(), Error> {
        let selection = match repository.id {
            Some(_) => BriefOf::Repository,
            None => BriefOf::Name,
        };
        let statement = sqlx::AssertSqlSafe(self.dialect.runs_without_transcripts(selection));
        let query = match columns::number(repository.id)? {
            Some(id) => sqlx::query(statement).bind(id),
            None => sqlx::query(statement).bind(repository.name.to_string()),
        };
        let mut all = query.bind(i64::try_from(limit).map_err(broken)?).fetch(&self.pool);
        let mut of_run: Vec<AnyRow> = Vec::new();
        loop {
            let row = all.try_next().await.map_err(broken)?;
            let is_next = |row: &AnyRow| of_run.first().is_some_and(|first| rows::id(first) != rows::id(row));
            if row.as_ref().is_none_or(is_next) {
                rows::fold(&of_run, &self.told).runs.into_iter().for_each(&mut *take);
                of_run.clear();
            }
            let Some(row) = row else { return Ok(()) };
            of_run.push(row);
        }
    }

    pub(super) async fn brief(&self, id: &RunId) -> Result<Option<(Run, Option<Timestamp>)>, Error> {
        let statement = self.dialect.runs_without_transcripts(BriefOf::Run);
        let rows = sqlx::query(sqlx::AssertSqlSafe(statement))
            .bind(&id.0)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)?;
        let run = rows::fold(&rows, &self.told).runs.pop();
        let ended = run.as_ref().and_then(|_| rows::ended_at(&rows));
        Ok(run.map(|run| (run, ended)))
    }

    /// One run by its id alone.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn find(&self, id: &RunId) -> Result<Option<Run>, Error> {
        let rows = sqlx::query(
            "SELECT run.*, step.step, step.format FROM addressed AS run JOIN step ON step.run = run.id WHERE run.id = \
             $1 ORDER BY step.place",
        )
        .bind(&id.0)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        Ok(rows::fold(&rows, &self.told).runs.pop())
    }

    pub(super) async fn steps(&self, id: &RunId, from: usize, limit: usize) -> Result<Vec<StoredStep>, Error> {
        let mut steps: Vec<StoredStep> = Vec::new();
        loop {
            let from = steps.last().map_or(from, |last| last.place + 1);
            let wanted = MAX_SOME.min(limit - steps.len());
            let some: Option<String> = sqlx::query_scalar(SELECT_SOME)
                .bind(&id.0)
                .bind(i64::try_from(from).map_err(broken)?)
                .bind(i64::try_from(wanted).map_err(broken)?)
                .fetch_one(&self.pool)
                .await
                .map_err(broken)?;
            let some = StoredStep::some(&some.unwrap_or_default())?;
            let is_end = some.len() < wanted;
            steps.extend(some);
            if is_end || steps.len() >= limit {
                return Ok(steps);
            }
        }
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

/// A step of a transcript without what was said, only with its usage. `None` for other steps.
fn brief(step: &str) -> Option<String> {
    if !step.starts_with("{\"said\":") {
        return None;
    }
    let step: Value = serde_json::from_str(step).ok()?;
    let said = match step["said"].get("reply").filter(|reply| reply.is_object()) {
        Some(reply) => json!({ "reply": { "usage": reply["usage"] } }),
        None => Value::Null,
    };
    Some(json!({ "said": said }).to_string())
}

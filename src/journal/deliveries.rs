//! Deliveries: each is admitted once, and done once.

use jiff::Timestamp;
use sqlx::{Any, Executor, Row as _};

use super::columns::broken;
use super::database::Database;
use super::dialect::Dialect;
use super::group::{DeliveryChange, note_push};
use super::lanes::Waiting;
use super::{Admission, Error, pieces};
use crate::domain::event::{Event, Fact};
use crate::domain::id::DeliveryId;

/// How many unfinished deliveries a restart resumes at most.
const MAX_UNFINISHED: i64 = 10_000;

impl Database {
    pub(super) async fn admit(&self, id: &DeliveryId, event: &Event, waiting: &Waiting) -> Result<Admission, Error> {
        let json = serde_json::to_string(event).map_err(broken)?;
        if self.dialect == Dialect::Sqlite {
            let is_push = matches!(event.fact, Fact::PullRequestPushed { .. });
            let push = is_push.then(|| Box::new(event.clone()));
            let admitted = DeliveryChange::Admitted { json, push };
            return self.group.write(&self.pool, id, admitted).await;
        }
        if let Some(admitted) = self.admit_at_once(id, &json, event, waiting).await? {
            return Ok(admitted);
        }
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        let is_new = insert(&mut *transaction, id, &json, self.now()).await?;
        note_push(&mut *transaction, event).await?;
        if is_new {
            let nth = pieces::put(&mut transaction, waiting, (&id.0, None)).await?;
            if waiting.interrupts {
                sqlx::query("INSERT INTO interrupt (nth, pull_request, repository, event) VALUES ($1, $2, $3, $4)")
                    .bind(nth)
                    .bind(&waiting.pull_request)
                    .bind(&waiting.repository)
                    .bind(&json)
                    .execute(&mut *transaction)
                    .await
                    .map_err(broken)?;
            }
        }
        transaction.commit().await.map_err(broken)?;
        Ok(if is_new { Admission::New } else { Admission::Known })
    }

    /// Admits a delivery to PostgreSQL in one statement, as nearly all can be. `None`, and nothing is written, if its
    /// repository has no turn yet, or another owner.
    ///
    /// Unlike an upsert, the lock on the turn's row is compatible with itself and with claims, so deliveries of one
    /// repository do not wait for each other's commits.
    async fn admit_at_once(
        &self,
        id: &DeliveryId,
        json: &str,
        event: &Event,
        waiting: &Waiting,
    ) -> Result<Option<Admission>, Error> {
        if matches!(event.fact, Fact::PullRequestPushed { .. }) {
            return Ok(None);
        }
        let row = sqlx::query(
            "WITH turn AS (
                SELECT prefers FROM turn WHERE repository = $4 AND owner = $6 FOR KEY SHARE
            ), new AS (
                INSERT INTO delivery (id, event, received) SELECT $1, $2, $3 FROM turn
                ON CONFLICT (id) DO NOTHING RETURNING id
            ), lane AS (
                INSERT INTO lane (name, repository, pull_request) SELECT $7, $4, $5 FROM new
                ON CONFLICT (name) DO UPDATE SET repository = excluded.repository RETURNING name
            ), work AS (
                INSERT INTO work (lane, repository, pull_request, class, delivery, turn_at, prefers)
                SELECT name, $4, $5, $8, $1, (extract(epoch FROM clock_timestamp()) * 1e6)::bigint + $9,
                    CASE WHEN $8 > 0 THEN turn.prefers ELSE '[]' END
                FROM lane, turn RETURNING nth
            ), interrupt AS (
                INSERT INTO interrupt (nth, pull_request, repository, event) SELECT nth, $5, $4, $2 FROM work WHERE $10
            ) SELECT (SELECT count(*) FROM turn) AS turns, (SELECT count(*) FROM new) AS new",
        )
        .bind(&id.0)
        .bind(json)
        .bind(self.now().to_string())
        .bind(&waiting.repository)
        .bind(&waiting.pull_request)
        .bind(&waiting.owner)
        .bind(&waiting.lane)
        .bind(waiting.class.number())
        .bind(pieces::delay(waiting))
        .bind(waiting.interrupts)
        .fetch_one(&self.pool)
        .await
        .map_err(broken)?;
        let (turns, new): (i64, i64) = (
            row.try_get("turns").map_err(broken)?,
            row.try_get("new").map_err(broken)?,
        );
        Ok((turns > 0).then_some(match new {
            0 => Admission::Known,
            _ => Admission::New,
        }))
    }

    pub(super) async fn knows(&self, id: &DeliveryId) -> Result<bool, Error> {
        let found = sqlx::query("SELECT 1 FROM delivery WHERE id = $1")
            .bind(&id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        Ok(found.is_some())
    }

    pub(super) async fn is_done(&self, id: &DeliveryId) -> Result<Option<bool>, Error> {
        let done: Option<i64> = sqlx::query_scalar("SELECT done FROM delivery WHERE id = $1")
            .bind(&id.0)
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        Ok(done.map(|done| done != 0))
    }

    pub(super) async fn finish(&self, id: &DeliveryId) -> Result<(), Error> {
        if self.dialect == Dialect::Sqlite {
            return self.group.write(&self.pool, id, DeliveryChange::Done).await.map(drop);
        }
        sqlx::query("UPDATE delivery SET done = 1, event = '' WHERE id = $1")
            .bind(&id.0)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }

    pub(super) async fn unfinished(&self) -> Result<Vec<(DeliveryId, Event)>, Error> {
        let rows = sqlx::query(self.dialect.unfinished())
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
}

/// Inserts a delivery. Returns false if it is there already.
async fn insert<'e>(
    executor: impl Executor<'e, Database = Any>,
    id: &DeliveryId,
    json: &str,
    now: Timestamp,
) -> Result<bool, Error> {
    let insert = "INSERT INTO delivery (id, event, received) VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING";
    let written = sqlx::query(insert)
        .bind(&id.0)
        .bind(json)
        .bind(now.to_string())
        .execute(executor)
        .await
        .map_err(broken)?;
    Ok(written.rows_affected() == 1)
}

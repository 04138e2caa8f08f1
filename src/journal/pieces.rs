//! Pieces of work in lanes, in PostgreSQL: deliveries, their parts, and runs that are to be resumed.

use jiff::Timestamp;
use sqlx::Row as _;

use super::Error;
use super::columns::broken;
use super::database::Database;
use super::lanes::{Class, SMALL_FIRST, Waiting};
use super::registry::{json, suits};
use crate::domain::event::Event;
use crate::domain::id::{DeliveryId, RunId};
use crate::domain::worker_labels::WorkerLabels;
use crate::lease::Lease;

/// How often a repository's turn is made that is deleted at the same time.
const MAX_TURNS_MADE: usize = 5;

/// One piece of work of a claimed lane.
#[derive(Debug)]
pub struct Piece {
    pub nth: i64,
    pub class: Class,
    pub what: PieceKind,
}

#[derive(Debug)]
pub enum PieceKind {
    Delivery(DeliveryId, Box<Event>),
    Resume(RunId),
    /// Its delivery cannot be read.
    Unreadable(String),
}

impl Database {
    /// The next piece of a claimed lane that this process has the labels for: runs first, then deliveries in the order
    /// of their arrival.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn next_piece(&self, lease: &Lease, labels: &WorkerLabels) -> Result<Option<Piece>, Error> {
        let next = format!(
            "SELECT work.nth, work.class, work.run, work.delivery, COALESCE(work.event, delivery.event) AS event \
             FROM work LEFT JOIN delivery ON delivery.id = work.delivery \
             WHERE work.lane = $1 AND work.not_before <= now() AND {} \
             ORDER BY work.run IS NULL, work.nth LIMIT 1",
            suits("work", "$2")
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(next))
            .bind(&lease.lane)
            .bind(json(labels)?)
            .fetch_optional(&self.pool)
            .await
            .map_err(broken)?;
        let Some(row) = row else { return Ok(None) };
        let run: Option<String> = row.try_get("run").map_err(broken)?;
        let what = if let Some(run) = run {
            PieceKind::Resume(RunId(run))
        } else {
            let id: String = row.try_get("delivery").map_err(broken)?;
            let event: Option<String> = row.try_get("event").map_err(broken)?;
            match serde_json::from_str(&event.unwrap_or_default()) {
                Ok(event) => PieceKind::Delivery(DeliveryId(id), event),
                Err(_) => PieceKind::Unreadable(id),
            }
        };
        Ok(Some(Piece {
            nth: row.try_get("nth").map_err(broken)?,
            class: Class::read(row.try_get("class").map_err(broken)?),
            what,
        }))
    }

    /// Marks a piece of a delivery as done, and puts the parts into their lanes that it was split into. The delivery
    /// is done with its last piece.
    ///
    /// # Errors
    /// [`Error::Taken`] when another process has the lane.
    pub async fn complete(&self, lease: &Lease, nth: i64, parts: &[(Waiting, Event)]) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        fence(&mut transaction, lease).await?;
        let delivery: Option<Option<String>> = sqlx::query_scalar("DELETE FROM work WHERE nth = $1 RETURNING delivery")
            .bind(nth)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(broken)?;
        if let Some(delivery) = delivery.flatten() {
            for (waiting, event) in parts {
                let event = serde_json::to_string(event).map_err(broken)?;
                put(&mut transaction, waiting, (&delivery, Some(&event))).await?;
            }
            sqlx::query(
                "UPDATE delivery SET done = 1, event = '' WHERE id = $1 \
                 AND NOT EXISTS (SELECT 1 FROM work WHERE work.delivery = $1)",
            )
            .bind(&delivery)
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        }
        transaction.commit().await.map_err(broken)
    }

    /// Puts a piece off: until a moment, or for longer and longer.
    ///
    /// # Errors
    /// [`Error::Taken`] when another process has the lane.
    pub async fn put_off(&self, lease: &Lease, nth: i64, until: Option<Timestamp>) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        fence(&mut transaction, lease).await?;
        sqlx::query(
            "UPDATE work SET tries = tries + 1, not_before = CASE WHEN $2 > 0 \
             THEN to_timestamp($2::double precision / 1e6) \
             ELSE now() + interval '1 minute' * power(2, LEAST(tries, 6)) END WHERE nth = $1",
        )
        .bind(nth)
        .bind(until.map_or(0, Timestamp::as_microsecond))
        .execute(&mut *transaction)
        .await
        .map_err(broken)?;
        transaction.commit().await.map_err(broken)
    }

    /// Leaves a piece, and the runs of its lane, to a process with these labels.
    ///
    /// # Errors
    /// [`Error::Taken`] when another process has the lane.
    pub async fn leave_to(&self, lease: &Lease, nth: i64, needs: &WorkerLabels) -> Result<(), Error> {
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        fence(&mut transaction, lease).await?;
        sqlx::query("UPDATE work SET needs = $2, not_before = now() WHERE lane = $1 AND (nth = $3 OR run IS NOT NULL)")
            .bind(&lease.lane)
            .bind(json(needs)?)
            .bind(nth)
            .execute(&mut *transaction)
            .await
            .map_err(broken)?;
        transaction.commit().await.map_err(broken)
    }

    /// Schedules the open runs of a pull request: those that wait for people resume when their request expires, and
    /// all others now, or later and later if they do not advance. `but_not_before` holds for all of them. Runs in
    /// other lanes are left to the processes that hold those.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn schedule(
        &self,
        lease: &Lease,
        pull_request: &str,
        but_not_before: Option<Timestamp>,
    ) -> Result<(), Error> {
        let runs: Vec<String> = sqlx::query_scalar(
            "SELECT run FROM work WHERE pull_request = $1 AND run IS NOT NULL AND (lane = $2 OR NOT EXISTS \
             (SELECT 1 FROM lane WHERE lane.name = work.lane AND lane.until >= now()))",
        )
        .bind(pull_request)
        .bind(&lease.lane)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        for id in runs {
            let Some(run) = self.find(&RunId(id.clone())).await? else {
                continue;
            };
            if run.is_over() {
                sqlx::query("DELETE FROM work WHERE run = $1")
                    .bind(&id)
                    .execute(&self.pool)
                    .await
                    .map_err(broken)?;
                continue;
            }
            let gates = run.open_gates();
            let expires = gates
                .iter()
                .map(|gate| gate.expires)
                .min()
                .filter(|_| run.end.is_none());
            let at = expires.max(but_not_before).or(but_not_before);
            // Only if the run did not advance since it was read, and this process still has the lane.
            sqlx::query(
                "UPDATE work SET class = $4, tries = CASE WHEN length = $2 THEN tries + 1 ELSE 0 END, length = $2, \
                 not_before = CASE WHEN to_timestamp($3::double precision / 1e6) > now() \
                 THEN to_timestamp($3::double precision / 1e6) \
                 WHEN length = $2 THEN now() + interval '1 minute' * power(2, LEAST(tries, 6)) ELSE now() END \
                 WHERE run = $1 AND $2 = (SELECT max(place) + 1 FROM step WHERE step.run = $1) \
                 AND EXISTS (SELECT 1 FROM lane WHERE name = $5 AND token = $6)",
            )
            .bind(&id)
            .bind(i64::try_from(run.length).map_err(broken)?)
            .bind(at.map_or(0, Timestamp::as_microsecond))
            .bind(Class::of_run(run.is_asked_for()).number())
            .bind(&lease.lane)
            .bind(lease.token)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        }
        Ok(())
    }
}

type Transaction<'a> = sqlx::Transaction<'a, sqlx::Any>;

/// Fails if another process has the lane. The lane cannot change hands until the end of the transaction.
pub(super) async fn fence(transaction: &mut Transaction<'_>, lease: &Lease) -> Result<(), Error> {
    let held = sqlx::query("SELECT 1 FROM lane WHERE name = $1 AND token = $2 FOR SHARE")
        .bind(&lease.lane)
        .bind(lease.token)
        .fetch_optional(&mut **transaction)
        .await
        .map_err(broken)?;
    match held {
        Some(_) if lease.is_trusted() => Ok(()),
        _ => Err(Error::Taken),
    }
}

/// Puts a delivery, or a part of one, into its lane. Returns the number of the piece, or `None` if it is there already.
pub(super) async fn put(
    transaction: &mut Transaction<'_>,
    waiting: &Waiting,
    (delivery, part): (&str, Option<&str>),
) -> Result<Option<i64>, Error> {
    let prefers = open_lane(transaction, waiting).await?;
    sqlx::query_scalar(
        "INSERT INTO work (lane, repository, pull_request, class, delivery, event, turn_at, prefers) \
         VALUES ($1, $2, $3, $4, $5, $6, (extract(epoch FROM clock_timestamp()) * 1e6)::bigint + $7, \
         CASE WHEN $4 > 0 THEN $8 ELSE '[]' END) ON CONFLICT (delivery, lane) DO NOTHING RETURNING nth",
    )
    .bind(&waiting.lane)
    .bind(&waiting.repository)
    .bind(&waiting.pull_request)
    .bind(waiting.class.number())
    .bind(delivery)
    .bind(part)
    .bind(delay(waiting))
    .bind(prefers)
    .fetch_optional(&mut **transaction)
    .await
    .map_err(broken)
}

/// Puts a run that begins into the lane in which it begins.
pub(super) async fn put_run(transaction: &mut Transaction<'_>, waiting: &Waiting, run: &RunId) -> Result<(), Error> {
    let prefers = open_lane(transaction, waiting).await?;
    sqlx::query(
        "INSERT INTO work (lane, repository, pull_request, class, run, prefers) VALUES ($1, $2, $3, $4, $5, $6) \
         ON CONFLICT (run) DO NOTHING",
    )
    .bind(&waiting.lane)
    .bind(&waiting.repository)
    .bind(&waiting.pull_request)
    .bind(waiting.class.number())
    .bind(&run.0)
    .bind(prefers)
    .execute(&mut **transaction)
    .await
    .map_err(broken)?;
    Ok(())
}

/// How much later a piece of work has its turn than it arrived, in microseconds.
pub(super) fn delay(waiting: &Waiting) -> i64 {
    match waiting.is_small {
        true => 0,
        false => i64::try_from(SMALL_FIRST.as_micros()).unwrap_or(0),
    }
}

/// Makes sure that a lane and its repository's turn exist, and returns the labels that the repository's tests were found
/// to need. The lane's row stays locked, so that it is not deleted as empty meanwhile. The row of the turn is only kept
/// from being deleted, unless the owner changed: claims lock it after lanes.
async fn open_lane(transaction: &mut Transaction<'_>, waiting: &Waiting) -> Result<String, Error> {
    sqlx::query(
        "INSERT INTO lane (name, repository, pull_request) VALUES ($1, $2, $3) ON CONFLICT (name) DO UPDATE \
         SET repository = excluded.repository",
    )
    .bind(&waiting.lane)
    .bind(&waiting.repository)
    .bind(&waiting.pull_request)
    .execute(&mut **transaction)
    .await
    .map_err(broken)?;
    // A turn that is deleted between the statements is made once more.
    for _ in 0..MAX_TURNS_MADE {
        let kept = sqlx::query_as::<_, (String, String)>(
            "SELECT owner, prefers FROM turn WHERE repository = $1 FOR KEY SHARE",
        )
        .bind(&waiting.repository)
        .fetch_optional(&mut **transaction)
        .await
        .map_err(broken)?;
        let (statement, prefers) = match kept {
            Some((owner, prefers)) if owner == waiting.owner => return Ok(prefers),
            Some((_, prefers)) => ("UPDATE turn SET owner = $2 WHERE repository = $1", Some(prefers)),
            None => (
                "INSERT INTO turn (repository, owner) VALUES ($1, $2) ON CONFLICT (repository) DO NOTHING",
                None,
            ),
        };
        sqlx::query(statement)
            .bind(&waiting.repository)
            .bind(&waiting.owner)
            .execute(&mut **transaction)
            .await
            .map_err(broken)?;
        if let Some(prefers) = prefers {
            return Ok(prefers);
        }
    }
    Err(Error::Broken("the turn of a repository cannot be kept".into()))
}

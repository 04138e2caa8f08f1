//! Lanes of work that several processes share, in PostgreSQL.
//!
//! A process claims a lane, does its work one piece after the other, and releases it. It holds the lane by a lease,
//! which it extends while it works; the next holder gets a larger fencing token. The database's clock alone
//! decides when a lease ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::Row as _;

use super::columns::broken;
use super::database::Database;
use super::dialect::Dialect;
use super::registry::{Claimant, json, suits};
use super::{Error, Journal};
use crate::domain::event::Event;
use crate::lease::Lease;

/// How long a lease lasts after it was last extended.
const LEASE: &str = "interval '24 seconds'";
/// How long a process trusts a lease after it was last extended. The rest is for a request that is on its way.
pub const TRUST: Duration = Duration::from_secs(10);
/// For how long small work may overtake large work that waits for the same.
pub const SMALL_FIRST: Duration = Duration::from_secs(300);
/// How many interruptions are read at a time.
const MAX_INTERRUPTIONS: i64 = 200;

/// What a piece of work needs from the process that does it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// No worker: it reads, answers, stops or notes something.
    Light,
    /// A worker, and a person asked for it.
    Asked,
    /// A worker, and nobody asked for it, such as red CI.
    Unasked,
}

impl Class {
    /// The class of a run that needs a worker.
    pub(super) fn of_run(is_asked_for: bool) -> Self {
        if is_asked_for { Self::Asked } else { Self::Unasked }
    }

    pub(super) fn number(self) -> i64 {
        match self {
            Self::Light => 0,
            Self::Asked => 1,
            Self::Unasked => 2,
        }
    }

    pub(super) fn read(number: i64) -> Self {
        match number {
            0 => Self::Light,
            1 => Self::Asked,
            _ => Self::Unasked,
        }
    }
}

/// The lane in which a piece of work waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    pub lane: String,
    pub class: Class,
    /// The key of its repository, and of its pull request; empty if it concerns none.
    pub repository: String,
    pub pull_request: String,
    /// The login of the repository's owner, in lower case; empty if it concerns none.
    pub owner: String,
    /// Whether it may stop an active run at once, in whichever process that is.
    pub interrupts: bool,
    /// Whether it takes seconds or minutes, such as landing what was approved.
    pub is_small: bool,
}

impl Journal {
    /// The database, if several processes may share it.
    pub fn shared(&self) -> Option<&Database> {
        match self {
            Self::Database(database) if database.dialect == Dialect::Postgres => Some(database),
            _ => None,
        }
    }
}

impl Database {
    /// Claims the next lane with work of this class that no process holds and that this one has the labels for.
    /// Repositories take turns, and have limits on how many of their lanes are held for work that needs workers.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn claim(&self, claimant: &Claimant, class: Class) -> Result<Option<Arc<Lease>>, Error> {
        let asked = Instant::now();
        let limit = |most: usize| i64::try_from(most).unwrap_or(i64::MAX);
        let mut transaction = self.pool.begin().await.map_err(broken)?;
        if class != Class::Light {
            // One at a time, so that two claims do not both take the last place under a limit.
            sqlx::query("SELECT pg_advisory_xact_lock(hashtext('greenlight claims'))::text")
                .execute(&mut *transaction)
                .await
                .map_err(broken)?;
        }
        let (suits, suits_earlier) = (suits("work", "$5"), suits("earlier", "$5"));
        // Turns are read from the index on `served` until the first one with work, so a claim takes as long with
        // thousands of repositories as with one. Processes look for work often, so that nothing is due has to be known
        // from one look at an index, too.
        let claim = format!(
            "WITH held AS MATERIALIZED (
                SELECT lane.repository, turn.owner, count(*) AS lanes
                FROM lane JOIN turn ON turn.repository = lane.repository
                WHERE lane.until >= now() AND lane.class > 0 GROUP BY lane.repository, turn.owner
            ), next AS (
                SELECT found.lane, turn.repository FROM turn CROSS JOIN LATERAL (
                    SELECT work.lane FROM work JOIN lane ON lane.name = work.lane
                    WHERE work.repository = turn.repository AND work.class = $2 AND work.not_before <= now()
                        AND (lane.until IS NULL OR lane.until < now())
                        AND {suits}
                        AND NOT EXISTS (SELECT 1 FROM work AS earlier WHERE earlier.lane = work.lane
                            AND earlier.not_before <= now() AND earlier.nth < work.nth AND {suits_earlier})
                    ORDER BY work.turn_at, work.nth LIMIT 1 FOR UPDATE OF lane SKIP LOCKED
                ) AS found
                WHERE EXISTS (SELECT 1 FROM work WHERE work.class = $2 AND work.not_before <= now()) AND ($2 = 0 OR (
                    $3 > COALESCE((SELECT sum(lanes) FROM held WHERE held.repository = turn.repository), 0)
                    AND $4 > COALESCE((SELECT sum(lanes) FROM held WHERE held.owner = turn.owner), 0)))
                ORDER BY turn.served LIMIT 1
            ), served AS (
                UPDATE turn SET served = clock_timestamp() FROM next WHERE turn.repository = next.repository
            )
            UPDATE lane SET holder = $1, token = nextval('fencing_token'), until = now() + {LEASE}, class = $2
            FROM next WHERE lane.name = next.lane RETURNING lane.name, lane.token"
        );
        let row = sqlx::query(sqlx::AssertSqlSafe(claim))
            .bind(&claimant.holder)
            .bind(class.number())
            .bind(limit(claimant.per_repository))
            .bind(claimant.per_owner.map_or(i64::MAX, limit))
            .bind(json(&claimant.labels)?)
            .fetch_optional(&mut *transaction)
            .await
            .map_err(broken)?;
        transaction.commit().await.map_err(broken)?;
        let lease = |row: sqlx::any::AnyRow| {
            let (lane, token) = (row.try_get("name"), row.try_get("token"));
            Ok(Arc::new(Lease::new(
                lane.map_err(broken)?,
                token.map_err(broken)?,
                asked + TRUST,
            )))
        };
        row.map(lease).transpose()
    }

    /// Extends all leases of a process. Returns the tokens that it still holds.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn extend(&self, holder: &str) -> Result<Vec<i64>, Error> {
        let extend = format!(
            "UPDATE lane SET until = now() + {LEASE} WHERE holder = $1 AND until >= now() AND token IS NOT NULL \
             RETURNING token"
        );
        sqlx::query_scalar(sqlx::AssertSqlSafe(extend))
            .bind(holder)
            .fetch_all(&self.pool)
            .await
            .map_err(broken)
    }

    /// Gives a lane back.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn release(&self, lease: &Lease) -> Result<(), Error> {
        sqlx::query("UPDATE lane SET holder = NULL, until = NULL, class = 0 WHERE name = $1 AND token = $2")
            .bind(&lease.lane)
            .bind(lease.token)
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }

    /// Whether this process leads: it does what only one has to do, such as looking for missed deliveries.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn leads(&self, holder: &str, for_seconds: i64) -> Result<bool, Error> {
        let led = sqlx::query(
            "INSERT INTO lane (name, repository, pull_request, holder, until) \
             VALUES ('leader', '', '', $1, now() + $2 * interval '1 second') ON CONFLICT (name) DO UPDATE \
             SET holder = excluded.holder, until = excluded.until \
             WHERE lane.holder = excluded.holder OR lane.until IS NULL OR lane.until < now()",
        )
        .bind(holder)
        .bind(for_seconds)
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(led.rows_affected() == 1)
    }

    /// The newest events that may stop a run in a lane of this process, each with its number.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn interruptions(&self, holder: &str) -> Result<Vec<(i64, Event)>, Error> {
        let rows = sqlx::query(
            "SELECT DISTINCT interrupt.nth, interrupt.event FROM interrupt \
             JOIN lane ON lane.pull_request = interrupt.pull_request \
             WHERE lane.holder = $1 AND interrupt.at > now() - interval '1 minute' ORDER BY interrupt.nth LIMIT $2",
        )
        .bind(holder)
        .bind(MAX_INTERRUPTIONS)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        let mut read = Vec::new();
        for row in rows {
            let event: String = row.try_get("event").map_err(broken)?;
            if let Ok(event) = serde_json::from_str(&event) {
                read.push((row.try_get("nth").map_err(broken)?, event));
            }
        }
        Ok(read)
    }

    /// Makes all work due, also runs that wait for people and deliveries that were put off.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn visit_all(&self) -> Result<(), Error> {
        sqlx::query("UPDATE work SET not_before = now(), tries = 0 WHERE not_before > now()")
            .execute(&self.pool)
            .await
            .map_err(broken)?;
        Ok(())
    }

    /// Deletes what is over: interruptions, words, pauses, and lanes without work. For the leader.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn tidy_lanes(&self) -> Result<(), Error> {
        for statement in [
            "DELETE FROM interrupt WHERE at < now() - interval '1 minute'",
            "DELETE FROM lane WHERE until IS NULL AND NOT EXISTS (SELECT 1 FROM work WHERE work.lane = lane.name)",
            "DELETE FROM worker WHERE until < now()",
            "DELETE FROM watched WHERE until < now()",
            "DELETE FROM github_pause WHERE until < now()",
            "DELETE FROM said WHERE at < now() - interval '30 seconds'",
            "DELETE FROM cancelled WHERE at < extract(epoch FROM now() - interval '1 day') * 1e6",
            "DELETE FROM turn WHERE served < now() - interval '1 day' \
             AND NOT EXISTS (SELECT 1 FROM work WHERE work.repository = turn.repository)",
        ] {
            sqlx::query(statement).execute(&self.pool).await.map_err(broken)?;
        }
        Ok(())
    }

    /// How many lanes have work that is due.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn lanes_due(&self) -> Result<u64, Error> {
        let due: i64 = sqlx::query_scalar("SELECT count(DISTINCT lane) FROM work WHERE not_before <= now()")
            .fetch_one(&self.pool)
            .await
            .map_err(broken)?;
        u64::try_from(due).map_err(broken)
    }
}

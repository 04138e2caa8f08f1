//! Writes deliveries to SQLite in groups. Each commit waits for the disk, so what arrives meanwhile is written with the
//! next one. Nobody waits longer than for two commits, and nothing counts before it is on the disk.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use sqlx::{Any, AnyConnection, AnyPool, Executor, Row as _};
use tokio::sync::oneshot;

use super::columns::broken;
use super::{Admission, Error};
use crate::domain::event::{Event, Fact};
use crate::domain::id::DeliveryId;

/// How many deliveries one commit writes at most.
const MAX_GROUP: usize = 256;

/// What waits for the next commit.
#[derive(Clone, Default)]
pub(super) struct Group(Arc<GroupState>);

#[derive(Default)]
struct GroupState {
    waiting: Mutex<Vec<Pending>>,
    /// Held by the one who commits.
    committing: tokio::sync::Mutex<()>,
}

struct Pending {
    id: DeliveryId,
    what: DeliveryChange,
    answer: oneshot::Sender<Result<Admission, Error>>,
}

/// What is written about a delivery.
pub(super) enum DeliveryChange {
    /// It arrived, with this event in JSON. The event itself is kept only if it is a push.
    Admitted {
        json: String,
        push: Option<Box<Event>>,
    },
    Done,
}

impl Group {
    /// Writes a change with the next commit, and returns when it is on the disk.
    ///
    /// # Errors
    /// When the database cannot be written. Then nothing of the group was.
    pub(super) async fn write(
        &self,
        pool: &AnyPool,
        id: &DeliveryId,
        what: DeliveryChange,
    ) -> Result<Admission, Error> {
        let (answer, mut written) = oneshot::channel();
        let id = id.clone();
        self.waiting().push(Pending { id, what, answer });
        let _committing = self.0.committing.lock().await;
        loop {
            match written.try_recv() {
                Ok(written) => return written,
                Err(oneshot::error::TryRecvError::Closed) => return Err(Error::Broken("the write was cut off".into())),
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
            let group: Vec<Pending> = {
                let mut waiting = self.waiting();
                let size = waiting.len().min(MAX_GROUP);
                waiting.drain(..size).collect()
            };
            // In a task, so that the others' changes are written even if this caller gives up.
            let pool = pool.clone();
            tokio::spawn(async move { commit(&pool, group).await })
                .await
                .map_err(broken)?;
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Pending>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a group, and answers everyone in it.
async fn commit(pool: &AnyPool, group: Vec<Pending>) {
    let mut written = try_commit(pool, &group).await;
    for pending in group {
        let answer = match &mut written {
            Ok(New::All) => Ok(Admission::New),
            // Of two with the same id, the first is new.
            Ok(New::These(ids)) => Ok(match ids.remove(&pending.id.0) {
                true => Admission::New,
                false => Admission::Known,
            }),
            Err(Error::Unavailable(problem)) => Err(Error::Unavailable(problem.clone())),
            Err(Error::Broken(problem)) => Err(Error::Broken(problem.clone())),
            Err(error) => Err(Error::Broken(error.to_string())),
        };
        let _nobody_waits_any_more = pending.answer.send(answer);
    }
}

/// Which deliveries of a group are new.
enum New {
    All,
    /// Those with these ids.
    These(HashSet<String>),
}

/// Returns which deliveries are new.
async fn try_commit(pool: &AnyPool, group: &[Pending]) -> Result<New, Error> {
    let now = Timestamp::now().to_string();
    let (mut admitted, mut done, mut pushes) = (Vec::new(), Vec::new(), Vec::new());
    for Pending { id, what, .. } in group {
        match what {
            DeliveryChange::Admitted { json, push } => {
                admitted.push([id.0.as_str(), json, &now]);
                pushes.extend(push.as_deref());
            }
            DeliveryChange::Done => done.push(id.0.as_str()),
        }
    }
    // A single statement is a transaction anyway.
    if pushes.is_empty() && (admitted.is_empty() || done.is_empty()) {
        let mut connection = pool.acquire().await.map_err(broken)?;
        return write(&mut connection, (&admitted, &pushes, &done)).await;
    }
    let mut transaction = pool.begin().await.map_err(broken)?;
    let new = write(&mut transaction, (&admitted, &pushes, &done)).await?;
    transaction.commit().await.map_err(broken)?;
    Ok(new)
}

/// Writes what was admitted, pushed and done. Returns which deliveries are new.
async fn write(
    connection: &mut AnyConnection,
    (admitted, pushes, done): (&[[&str; 3]], &[&Event], &[&str]),
) -> Result<New, Error> {
    let new = match admitted {
        [] => New::All,
        admitted => admit(&mut *connection, admitted).await?,
    };
    for push in pushes {
        note_push(&mut *connection, push).await?;
    }
    if !done.is_empty() {
        sqlx::query("UPDATE delivery SET done = 1, event = '' WHERE id IN (SELECT value FROM json_each($1))")
            .bind(serde_json::to_string(done).map_err(broken)?)
            .execute(&mut *connection)
            .await
            .map_err(broken)?;
    }
    Ok(new)
}

/// Writes what was admitted. Returns which deliveries are new.
async fn admit(connection: &mut AnyConnection, admitted: &[[&str; 3]]) -> Result<New, Error> {
    let json = serde_json::to_string(admitted).map_err(broken)?;
    // Nearly always all are new. Each row of an answer would pass from one thread to another.
    let insert = "INSERT INTO delivery (id, event, received) SELECT value->>0, value->>1, value->>2 FROM json_each($1)";
    match sqlx::query(insert).bind(&json).execute(&mut *connection).await {
        Ok(_) => return Ok(New::All),
        Err(sqlx::Error::Database(error)) if error.is_unique_violation() => {}
        Err(error) => return Err(broken(error)),
    }
    let rows = sqlx::query(
        "INSERT INTO delivery (id, event, received) SELECT value->>0, value->>1, value->>2 FROM json_each($1) \
         WHERE true ON CONFLICT (id) DO NOTHING RETURNING id",
    )
    .bind(&json)
    .fetch_all(&mut *connection)
    .await
    .map_err(broken)?;
    let ids = rows.iter().map(|row| row.try_get("id").map_err(broken));
    ids.collect::<Result<_, _>>().map(New::These)
}

/// Records the time of a push, if the admitted event is one.
pub(super) async fn note_push<'e>(executor: impl Executor<'e, Database = Any>, event: &Event) -> Result<(), Error> {
    let Fact::PullRequestPushed { pull_request, .. } = &event.fact else {
        return Ok(());
    };
    sqlx::query(
        "INSERT INTO push (pull_request, at) VALUES ($1, $2) ON CONFLICT (pull_request) DO UPDATE \
         SET at = CASE WHEN excluded.at > push.at THEN excluded.at ELSE push.at END",
    )
    .bind(pull_request.key())
    .bind(event.received.as_microsecond())
    .execute(executor)
    .await
    .map_err(broken)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::Database;
    use super::*;

    #[tokio::test]
    async fn what_is_known_already_is_told_from_what_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let database = Database::open(&folder.path().join("greenlight.db")).await.unwrap();
        let admit = |numbers: std::ops::Range<usize>| {
            futures::future::join_all(numbers.map(|number| {
                let database = &database;
                async move {
                    let (id, json) = (DeliveryId(number.to_string()), "{}".into());
                    let what = DeliveryChange::Admitted { json, push: None };
                    database.group.write(&database.pool, &id, what).await.unwrap()
                }
            }))
        };
        assert_eq!(admit(0..5).await, [Admission::New; 5]);
        let known_and_new = [[Admission::Known; 3], [Admission::New; 3]].concat();
        assert_eq!(admit(2..8).await, known_and_new);
        assert_eq!(admit(0..8).await, [Admission::Known; 8]);
    }

    #[tokio::test]
    async fn deliveries_that_arrive_together_are_each_written_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("greenlight.db");
        let database = Database::open(&file).await.unwrap();
        let admit = |number: usize| {
            let database = &database;
            async move {
                // Each id comes twice, and the event must survive quotes, backslashes and NUL.
                let (id, json) = (
                    DeliveryId((number / 2).to_string()),
                    format!("{{\"n\":\"\\u0000'{}\"}}", number / 2),
                );
                let what = DeliveryChange::Admitted { json, push: None };
                database.group.write(&database.pool, &id, what).await.unwrap()
            }
        };
        let all = futures::future::join_all((0..2 * MAX_GROUP + 100).map(admit)).await;
        let new = all.iter().filter(|admission| **admission == Admission::New).count();
        assert_eq!((new, all.len()), (MAX_GROUP + 50, 2 * MAX_GROUP + 100));
        let finish = |number: usize| {
            let database = &database;
            async move {
                let id = DeliveryId(number.to_string());
                database
                    .group
                    .write(&database.pool, &id, DeliveryChange::Done)
                    .await
                    .unwrap();
            }
        };
        futures::future::join_all((1..MAX_GROUP + 50).map(finish)).await;
        let left: Vec<(String, String)> = sqlx::query_as("SELECT id, event FROM delivery WHERE done = 0")
            .fetch_all(&database.pool)
            .await
            .unwrap();
        assert_eq!(left, [("0".to_string(), "{\"n\":\"\\u0000'0\"}".to_string())]);
        // Nothing is acknowledged that is not written.
        database.pool.close().await;
        let id = DeliveryId("late".into());
        let refused = database.group.write(&database.pool, &id, DeliveryChange::Done).await;
        assert!(matches!(refused, Err(Error::Unavailable(_))), "{refused:?}");
    }
}

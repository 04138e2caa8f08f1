//! Carries what models say from the process where they say it to those where somebody watches, in PostgreSQL. Only for
//! runs that are watched, and only for seconds: the journal has the replies for good.

use sqlx::Row as _;

use super::Error;
use super::columns::broken;
use super::database::Database;
use crate::domain::id::RunId;

/// How many chunks are read at a time.
const MAX_READ: i64 = 500;

/// Something that a model said; untrusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Word {
    /// Grows within a run.
    pub nth: i64,
    pub run: RunId,
    /// JSON, which only the caller understands.
    pub chunk: String,
}

impl Database {
    /// Notes that somebody watches these runs here, for ten seconds.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn watch_runs(&self, runs: &[RunId]) -> Result<(), Error> {
        sqlx::query(
            "INSERT INTO watched (run, until) SELECT run.id, now() + interval '10 seconds' FROM run \
             WHERE run.id IN (SELECT jsonb_array_elements_text($1::jsonb)) ORDER BY run.id \
             ON CONFLICT (run) DO UPDATE SET until = excluded.until",
        )
        .bind(list(runs)?)
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    /// The runs in lanes of this process that somebody watches anywhere.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn watched_runs(&self, holder: &str) -> Result<Vec<RunId>, Error> {
        let runs: Vec<String> = sqlx::query_scalar(
            "SELECT watched.run FROM watched JOIN work ON work.run = watched.run JOIN lane ON lane.name = work.lane \
             WHERE watched.until > now() AND lane.holder = $1",
        )
        .bind(holder)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        Ok(runs.into_iter().map(RunId).collect())
    }

    /// Passes on what models said in this process, in this order.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn say(&self, holder: &str, words: &[(RunId, String)]) -> Result<(), Error> {
        let words: Vec<[&str; 2]> = words
            .iter()
            .map(|(run, chunk)| [run.0.as_str(), chunk.as_str()])
            .collect();
        sqlx::query(
            "INSERT INTO said (run, holder, chunk) SELECT word.value->>0, $1, word.value->>1 \
             FROM jsonb_array_elements($2::jsonb) WITH ORDINALITY AS word (value, place) \
             WHERE EXISTS (SELECT 1 FROM run WHERE run.id = word.value->>0) ORDER BY word.place",
        )
        .bind(holder)
        .bind(serde_json::to_string(&words).map_err(broken)?)
        .execute(&self.pool)
        .await
        .map_err(broken)?;
        Ok(())
    }

    /// What was said in these runs by other processes after a number, in order.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub async fn hear(&self, holder: &str, runs: &[RunId], after: i64) -> Result<Vec<Word>, Error> {
        let rows = sqlx::query(
            "SELECT nth, run, chunk FROM said WHERE run IN (SELECT jsonb_array_elements_text($1::jsonb)) \
             AND nth > $2 AND holder <> $3 ORDER BY nth LIMIT $4",
        )
        .bind(list(runs)?)
        .bind(after)
        .bind(holder)
        .bind(MAX_READ)
        .fetch_all(&self.pool)
        .await
        .map_err(broken)?;
        rows.iter()
            .map(|row| {
                Ok(Word {
                    nth: row.try_get("nth").map_err(broken)?,
                    run: RunId(row.try_get("run").map_err(broken)?),
                    chunk: row.try_get("chunk").map_err(broken)?,
                })
            })
            .collect()
    }
}

fn list(runs: &[RunId]) -> Result<String, Error> {
    let ids: Vec<&str> = runs.iter().map(|RunId(id)| id.as_str()).collect();
    serde_json::to_string(&ids).map_err(broken)
}

//! Statistics of a repository, for everyone who may read its runs.

use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Json;
use jiff::{SignedDuration, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Api;
use super::problem::{Problem, within};
use super::who::Caller;
use crate::domain::id::RepositoryName;
use crate::summary::Statistics;

/// How many of the newest runs are counted at most.
const MAX_COUNTED: usize = 2_000;
/// How many days back runs are counted, by default and at most.
const DAYS: u32 = 30;
const MAX_DAYS: u32 = 3_650;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Counting {
    /// `owner/name`.
    #[schemars(with = "String")]
    repository: RepositoryName,
    /// How many days back, 30 by default.
    #[schemars(range(min = 1, max = MAX_DAYS))]
    days: Option<u32>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Counted {
    #[schemars(with = "String")]
    repository: RepositoryName,
    /// Runs that started earlier are not counted.
    since: Timestamp,
    /// Whether there are too many runs to count all of them.
    is_partial: bool,
    statistics: Statistics,
}

pub(super) async fn get_stats(
    State(api): State<Api>,
    caller: Caller,
    wanted: Result<Query<Counting>, QueryRejection>,
) -> Result<Json<Counted>, Problem> {
    let explained = |_| Problem::BadRequest("say which, as in `?repository=owner/name&days=30`".into());
    let Query(Counting { repository, days }) = wanted.map_err(explained)?;
    let days = within("days", days.unwrap_or(DAYS), 1..=MAX_DAYS)?;
    let access = caller.access(&api, None, (&repository.into(), None)).await?;
    let runs = api
        .queue
        .app()
        .journal
        .runs_in(&access.at.repository, MAX_COUNTED)
        .await?;
    let now = Timestamp::now();
    let since = now.checked_sub(SignedDuration::from_hours(24 * i64::from(days)));
    let since = since.unwrap_or(Timestamp::MIN);
    let statistics = Statistics::of(&runs, since);
    // If the oldest run that was read is newer, there may be more.
    let is_partial = runs.len() == MAX_COUNTED && runs.iter().all(|run| run.started.at >= since);
    Ok(Json(Counted {
        repository: access.at.repository.name.clone(),
        since,
        is_partial,
        statistics,
    }))
}

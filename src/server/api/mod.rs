//! The REST API: reads the runs of a repository, and accepts the same answers as a comment or a button.
//!
//! | route | what it does |
//! |---|---|
//! | `GET /api/v1/runs?repository=owner/name&limit=20` | lists runs, newest first: `{ "runs": [RunSummary] }` |
//! | `GET /api/v1/runs/{id}` | one run with its requests and its timeline: `Run` |
//! | `GET /api/v1/runs/{id}/events` | its journal as it grows, and the model's output, as SSE or over a WebSocket |
//! | `POST /api/v1/runs/{id}/gates/{gate}/approve` | approves |
//! | `POST /api/v1/runs/{id}/gates/{gate}/reject` | rejects; the body is `{ "reason": "…" }` or empty |
//! | `POST /api/v1/runs/{id}/cancel` | cancels |
//! | `GET /api/v1/stats?repository=owner/name&days=30` | what the runs of a repository show: `Statistics` |
//! | `GET /api/v1/openapi.json` | describes all of this, for everybody |
//!
//! Every request carries the caller's own GitHub token, `Authorization: Bearer <token>`. GitHub says whose token it
//! is. That person's permission in the repository is fetched with greenlight's own credentials, as for a comment:
//! reading needs read access, answering needs write access, and bots may do neither. The token itself must have the
//! same access: it is used to read the pull request, and, for an answer, to check whether it may write to the
//! repository. A POST is recorded and answered with 202. It is carried out in the lane of its pull request, where
//! everything is checked again.
//!
//! Errors are `{ "error": "…" }`: 400 for a malformed request, 401 without a person's token, 403 for callers who may
//! only read, 404 for what does not exist or the caller may not see, 409 for a request that is no longer open or
//! whose head moved, and 503 when greenlight is at capacity or GitHub is unavailable.

mod events;
mod openapi;
mod problem;
mod stats;
mod tokens;
mod view;
mod who;

use std::sync::LazyLock;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Json;
use axum::routing::get;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Deserialize;

use self::openapi::{Operation, Routes};
use self::problem::Problem;
use self::view::{Accepted, RunList, RunView, UnreadableRun};
use self::who::{Access, Caller};
use super::answers::{Answering, NotTaken};
use super::queue::Queue;
use crate::domain::command::{Command, MAXIMUM_TEXT};
use crate::domain::gate::GateId;
use crate::domain::id::{PullRequestId, RepositoryName, RunId};
use crate::domain::run::Run;
use crate::journal::Journal;
use crate::summary::{RunSummary, Timeline, TimelineEntry};

/// The maximum size of a request body, in bytes.
const MAX_BODY: usize = 64 << 10;
/// How long a response may take to begin.
const MAX_ANSWER: Duration = Duration::from_secs(40);
/// How many runs a list contains at most, and by default.
const MAX_LISTED: usize = 100;
const LISTED: usize = 20;
/// How many steps are read at a time.
const STEPS: usize = 500;
/// The maximum length of an id.
const MAX_ID: usize = 64;

/// The state that every route shares.
#[derive(Clone)]
struct Api {
    queue: Queue,
    who: who::Who,
    listeners: events::Listeners,
}

/// The routes below `/api/v1`.
pub(super) fn router(queue: Queue) -> Router {
    let api = Api {
        queue,
        who: who::Who::default(),
        listeners: events::Listeners::default(),
    };
    routes()
        .into_router()
        .route("/openapi.json", get(async || openapi::served(&DESCRIPTION)))
        .fallback(async || Problem::NotFound)
        .method_not_allowed_fallback(async || Problem::OtherMethod)
        .layer(tower_http::timeout::TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            MAX_ANSWER,
        ))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(axum::middleware::map_response(problem::in_json))
        .with_state(api)
}

/// The description of the API, in OpenAPI 3.1.
pub(super) fn description() -> &'static str {
    &DESCRIPTION
}

static DESCRIPTION: LazyLock<String> = LazyLock::new(|| routes().description());

fn routes() -> Routes {
    const NO_LONGER: &[u16] = &[400, 409];
    Routes::new()
        .get("/runs", get_runs, |routes| {
            Operation::answers::<RunList>(routes, "The runs of a repository, newest first").query::<Listing>()
        })
        .get("/runs/{id}", get_run, |routes| {
            Operation::answers::<RunView>(routes, "A run with its requests and its timeline")
        })
        .get("/stats", stats::get_stats, |routes| {
            Operation::answers::<stats::Counted>(routes, "What the runs of a repository show")
                .query::<stats::Counting>()
        })
        .get("/runs/{id}/events", events::get_events, |_| {
            let summary = "The steps of a run as its journal grows, and the model's output; also over a WebSocket";
            Operation::streams(summary).query::<events::From>()
        })
        .post("/runs/{id}/gates/{gate}/approve", post_approve, |routes| {
            Operation::answers::<Accepted>(routes, "Approves a request").accepted(NO_LONGER)
        })
        .post("/runs/{id}/gates/{gate}/reject", post_reject, |routes| {
            let reject = Operation::answers::<Accepted>(routes, "Rejects a request");
            reject.body::<Rejection>().accepted(NO_LONGER)
        })
        .post("/runs/{id}/cancel", post_cancel, |routes| {
            Operation::answers::<Accepted>(routes, "Cancels a run").accepted(NO_LONGER)
        })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Listing {
    /// `owner/name`.
    #[schemars(required, with = "String")]
    repository: Option<String>,
    /// How many runs, 20 by default.
    #[schemars(range(min = 1, max = MAX_LISTED))]
    limit: Option<usize>,
}

async fn get_runs(
    State(api): State<Api>,
    caller: Caller,
    listing: Result<Query<Listing>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<RunList>, Problem> {
    let bad_query = |what: &str| Problem::BadRequest(format!("{what}, as in `?repository=owner/name&limit=20`"));
    let Query(listing) =
        listing.map_err(|_| bad_query("the query may have a `repository` and, as a whole number, a `limit`"))?;
    let repository = listing.repository.ok_or_else(|| bad_query("say which `repository`"))?;
    let repository: RepositoryName = repository
        .parse()
        .map_err(|_| bad_query("`repository` has to be `owner/name`"))?;
    let limit = problem::within("limit", listing.limit.unwrap_or(LISTED), 1..=MAX_LISTED)?;
    let access = caller.access(&api, None, (&repository.into(), None)).await?;
    let mut runs = api.queue.app().journal.runs_in(&access.at.repository, limit).await?;
    for run in &mut runs {
        if let Some(id) = run.started.pull_request_mut() {
            id.repository = access.at.repository.clone();
        }
    }
    let now = Timestamp::now();
    let mut summaries = Vec::with_capacity(runs.len());
    for run in &runs {
        let ended = api.queue.app().journal.ended_at(run.id(), run.length).await?;
        summaries.push(RunSummary::of(run, now).ended(ended));
    }
    let unreadable = api.queue.app().journal.unreadable(&access.at.repository, None).await?;
    let unreadable = unreadable.iter().map(UnreadableRun::of).collect();
    Ok(Json(RunList {
        runs: summaries,
        unreadable,
    }))
}

async fn get_run(State(api): State<Api>, caller: Caller, Path(id): Path<String>) -> Result<Json<RunView>, Problem> {
    let VisibleRun { mut run, on, access } = find(&api, &caller, &id).await?;
    if let Some(id) = run.started.pull_request_mut() {
        *id = on.clone();
    }
    let now = access.at.client.pull_request(&on).await;
    let branch = now.map_or_else(|_| "the branch".into(), |pull_request| pull_request.head_branch);
    let timeline = timeline_of(&api.queue.app().journal, run.id()).await?;
    Ok(Json(RunView::of(&run, timeline, &branch)))
}

/// The timeline of a run.
async fn timeline_of(journal: &Journal, id: &RunId) -> Result<Vec<TimelineEntry>, Problem> {
    let mut timeline = Timeline::default();
    let mut from = 0;
    loop {
        let some = journal.steps(id, from, STEPS).await?;
        for stored in &some {
            if let Ok(Some(step)) = stored.step() {
                timeline.take((stored.place, &step, stored.at));
            }
        }
        from = some.last().map_or(from, |stored| stored.place + 1);
        if some.len() < STEPS {
            return Ok(timeline.entries());
        }
    }
}

async fn post_approve(
    State(api): State<Api>,
    caller: Caller,
    Path((id, gate)): Path<(String, String)>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let answer = |gate| Command::Approve { gate: Some(gate) };
    answered(&api, &caller, (&id, &gate), answer).await
}

#[derive(Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Rejection {
    /// Greenlight looks for another fix with it.
    reason: Option<String>,
}

async fn post_reject(
    State(api): State<Api>,
    caller: Caller,
    Path((id, gate)): Path<(String, String)>,
    body: Bytes,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let Rejection { reason } = if body.trim_ascii().is_empty() {
        Rejection::default()
    } else {
        serde_json::from_slice(&body)
            .map_err(|error| Problem::BadRequest(format!("the body cannot be read: {error}")))?
    };
    let reason = reason
        .map(|reason| reason.trim().to_string())
        .filter(|text| !text.is_empty());
    if reason.as_ref().is_some_and(|text| text.chars().count() > MAXIMUM_TEXT) {
        let text = format!("`reason` has more than {MAXIMUM_TEXT} characters");
        return Err(Problem::BadRequest(text));
    }
    let answer = |gate| Command::Reject {
        gate: Some(gate),
        reason,
    };
    answered(&api, &caller, (&id, &gate), answer).await
}

async fn post_cancel(
    State(api): State<Api>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let VisibleRun { run, on, access } = find(&api, &caller, &id).await?;
    caller.may_answer(&api, &access).await?;
    answering(&api, &caller, (&run, &on, &access)).cancel().await?;
    Ok((StatusCode::ACCEPTED, Json(Accepted::of(&run, None, "cancel"))))
}

/// Checks an answer to a request as far as possible now, and submits it.
async fn answered(
    api: &Api,
    caller: &Caller,
    (id, gate): (&str, &str),
    answer: impl FnOnce(GateId) -> Command,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let VisibleRun { run, on, access } = find(api, caller, id).await?;
    let asked = run.gates.iter().find(|asked| asked.gate.id.to_string() == gate);
    let asked = asked.ok_or(Problem::NotFound)?;
    caller.may_answer(api, &access).await?;
    let command = answer(asked.gate.id.clone());
    let verb = match &command {
        Command::Approve { .. } => "approve",
        _ => "reject",
    };
    let given = answering(api, caller, (&run, &on, &access))
        .answer(asked, command)
        .await;
    given.map_err(|refused| match refused {
        NotTaken::Closed => Problem::Conflict(format!("`{gate}` is no longer open")),
        NotTaken::Moved(head) => Problem::Conflict(format!(
            "`{gate}` is for {}, but the pull request is closed or has a different head by now",
            head.short()
        )),
        refused => refused.into(),
    })?;
    let accepted = Accepted::of(&run, Some(&asked.gate.id), verb);
    Ok((StatusCode::ACCEPTED, Json(accepted)))
}

fn answering<'a>(
    api: &'a Api,
    caller: &'a Caller,
    (run, on, access): (&'a Run, &'a PullRequestId, &'a Access),
) -> Answering<'a> {
    Answering {
        queue: &api.queue,
        client: &access.at.client,
        by: &caller.account,
        run,
        on,
        place: "api",
    }
}

/// A run, its pull request, and what the caller may do there.
struct VisibleRun {
    run: Run,
    on: PullRequestId,
    access: Access,
}

/// The run with this id, if it exists and this caller may see it.
async fn find(api: &Api, caller: &Caller, id: &str) -> Result<VisibleRun, Problem> {
    if id.is_empty() || id.len() > MAX_ID {
        return Err(Problem::NotFound);
    }
    let run = api.queue.app().journal.find(&RunId(id.into())).await?;
    let run = run.ok_or(Problem::NotFound)?;
    let PullRequestId { repository, number } = run.started.pull_request().cloned().ok_or(Problem::NotFound)?;
    let access = caller
        .access(api, run.started.installation, (&repository, Some(number)))
        .await?;
    let repository = access.at.repository.clone();
    Ok(VisibleRun {
        run,
        on: PullRequestId { repository, number },
        access,
    })
}

/// The token of a request. It is never logged.
pub(super) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(axum::http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

//! The REST API: what the runs of a repository are, and the answers that a comment or a button can give, too.
//!
//! | route | what it does |
//! |---|---|
//! | `GET /api/v1/runs?repository=owner/name&limit=20` | lists runs, the newest first: `{ "runs": [RunSummary] }` |
//! | `GET /api/v1/runs/{id}` | one run with its requests: `Run` |
//! | `GET /api/v1/runs/{id}/events` | its journal as it grows, and what its model says: server-sent events, or a WebSocket |
//! | `POST /api/v1/runs/{id}/gates/{gate}/approve` | approves |
//! | `POST /api/v1/runs/{id}/gates/{gate}/reject` | rejects; body `{ "reason": "…" }`, or none |
//! | `POST /api/v1/runs/{id}/cancel` | cancels |
//!
//! Every request carries the caller's own GitHub token, `Authorization: Bearer <token>`. GitHub says whose it is, and
//! what that person may do in the repository is asked with greenlight's own credentials, as for a comment: reading
//! takes read access, answering takes write access, and bots do neither. The token has to be good for that itself:
//! GitHub is asked with it for the pull request, and, for an answer, whether it may write to the repository. What a
//! POST asks for is written down and answered with 202; it is carried out in the lane of its pull request, where
//! everything is checked again.
//!
//! Errors are `{ "error": "…" }`: 400 for what cannot be read, 401 without a person's token, 403 for who may only read, 404
//! for what is not there or not theirs to see, 409 for a request that is not open any more or whose head moved, and 503
//! when there is no room, or GitHub is away.

mod events;
mod problem;
mod tokens;
mod view;
mod who;

use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Json;
use axum::routing::{get, post};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use self::problem::Problem;
use self::view::{RunSummary, RunView, UnreadableRun};
use self::who::{Access, Caller};
use super::queue::Queue;
use super::work::Work;
use crate::domain::command::{Command, MAXIMUM_TEXT};
use crate::domain::event::{Event, Fact};
use crate::domain::gate::GateId;
use crate::domain::id::{DeliveryId, PullRequestId, RepositoryName, RunId};
use crate::domain::run::Run;

/// No body that is read here is larger.
const MAX_BODY: usize = 64 << 10;
/// How long an answer may take to begin.
const MAX_ANSWER: Duration = Duration::from_secs(40);
/// How many runs a list has at most, and without a word about it.
const MAX_LISTED: usize = 100;
const LISTED: usize = 20;
/// The longest id that is looked for.
const MAX_ID: usize = 64;

/// What every route works with.
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
    Router::new()
        .route("/runs", get(get_runs))
        .route("/runs/{id}", get(get_run))
        .route("/runs/{id}/events", get(events::get_events))
        .route("/runs/{id}/gates/{gate}/approve", post(post_approve))
        .route("/runs/{id}/gates/{gate}/reject", post(post_reject))
        .route("/runs/{id}/cancel", post(post_cancel))
        .layer(tower_http::timeout::TimeoutLayer::with_status_code(
            StatusCode::SERVICE_UNAVAILABLE,
            MAX_ANSWER,
        ))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .with_state(api)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Listing {
    repository: Option<String>,
    limit: Option<usize>,
}

async fn get_runs(
    State(api): State<Api>,
    caller: Caller,
    listing: Result<Query<Listing>, axum::extract::rejection::QueryRejection>,
) -> Result<Json<Value>, Problem> {
    let asked = |what: &str| Problem::BadRequest(format!("{what}, as in `?repository=owner/name&limit=20`"));
    let Query(listing) =
        listing.map_err(|_| asked("the query may have a `repository` and, as a whole number, a `limit`"))?;
    let repository = listing.repository.ok_or_else(|| asked("say which `repository`"))?;
    let repository: RepositoryName = repository
        .parse()
        .map_err(|_| asked("`repository` has to be `owner/name`"))?;
    let limit = listing.limit.unwrap_or(LISTED).clamp(1, MAX_LISTED);
    let access = caller.access(&api, None, (&repository.into(), None)).await?;
    let mut runs = api.queue.app().journal.runs_in(&access.repository, limit).await?;
    for run in &mut runs {
        if let Some(id) = run.started.pull_request_mut() {
            id.repository = access.repository.clone();
        }
    }
    let summary = |run| Some(RunSummary::of(run, run.started.pull_request()?));
    let runs: Vec<RunSummary> = runs.iter().filter_map(summary).collect();
    let unreadable = api.queue.app().journal.unreadable(&access.repository, None).await?;
    let unreadable: Vec<UnreadableRun> = unreadable.iter().map(UnreadableRun::of).collect();
    Ok(Json(json!({ "runs": runs, "unreadable": unreadable })))
}

async fn get_run(State(api): State<Api>, caller: Caller, Path(id): Path<String>) -> Result<Json<RunView>, Problem> {
    let VisibleRun { run, on, access } = find(&api, &caller, &id).await?;
    let now = access.client.pull_request(&on).await;
    let branch = now.map_or_else(|_| "the branch".into(), |pull_request| pull_request.head_branch);
    Ok(Json(RunView::of(&run, &on, &branch)))
}

async fn post_approve(
    State(api): State<Api>,
    caller: Caller,
    Path((id, gate)): Path<(String, String)>,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let answer = |gate| Command::Approve { gate: Some(gate) };
    answered(&api, &caller, (&id, &gate), answer).await
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rejection {
    reason: Option<String>,
}

async fn post_reject(
    State(api): State<Api>,
    caller: Caller,
    Path((id, gate)): Path<(String, String)>,
    body: Bytes,
) -> Result<(StatusCode, Json<Value>), Problem> {
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
) -> Result<(StatusCode, Json<Value>), Problem> {
    let VisibleRun { run, on, access } = find(&api, &caller, &id).await?;
    caller.may_answer(&api, &access).await?;
    if run.end.is_some() {
        return Err(Problem::Conflict("the run is over".into()));
    }
    give(&api, &caller, (&run, on), Command::Cancel).await?;
    Ok((
        StatusCode::ACCEPTED,
        Json(json!({ "run": run.id(), "accepted": "cancel" })),
    ))
}

/// Checks an answer to a request as far as that can be told now, and gives it.
async fn answered(
    api: &Api,
    caller: &Caller,
    (id, gate): (&str, &str),
    answer: impl FnOnce(GateId) -> Command,
) -> Result<(StatusCode, Json<Value>), Problem> {
    let VisibleRun { run, on, access } = find(api, caller, id).await?;
    let asked = run.gates.iter().find(|asked| asked.gate.id.to_string() == gate);
    let asked = asked.ok_or(Problem::NotFound)?;
    caller.may_answer(api, &access).await?;
    if !run.open_gates().contains(&asked.gate) || Timestamp::now() >= asked.gate.expires {
        return Err(Problem::Conflict(format!("`{gate}` is no longer open")));
    }
    let now = access.client.pull_request(&on).await?;
    if !now.is_open || now.head != asked.gate.head {
        return Err(Problem::Conflict(format!(
            "`{gate}` is for {}, but the pull request is closed or has a different head by now",
            asked.gate.head.short()
        )));
    }
    let command = answer(asked.gate.id.clone());
    let verb = match &command {
        Command::Approve { .. } if asked.has_approved(&caller.account) => {
            return Err(Problem::Conflict(
                "you have already approved; another person is needed".into(),
            ));
        }
        Command::Approve { .. } => "approve",
        _ => "reject",
    };
    give(api, caller, (&run, on), command).await?;
    let body = json!({ "run": run.id(), "gate": asked.gate.id, "accepted": verb });
    Ok((StatusCode::ACCEPTED, Json(body)))
}

/// Writes a command down, and puts it into the lane of its pull request.
async fn give(api: &Api, caller: &Caller, (run, on): (&Run, PullRequestId), command: Command) -> Result<(), Problem> {
    if !api.queue.has_room() {
        return Err(Problem::Busy);
    }
    let event = Event {
        installation: run.started.installation,
        received: Timestamp::now(),
        fact: Fact::CommandGiven {
            pull_request: on,
            head: run.started.head.clone(),
            by: caller.account.clone(),
            command,
        },
    };
    let id = DeliveryId(format!("api {}", ulid::Ulid::new()));
    api.queue.app().journal.admit(&id, &event).await?;
    tracing::info!(run.id = %run.id(), login = %caller.account, "a command came through the API");
    // In the journal it is safe: should the queue have filled up meanwhile, the clock picks it up.
    let _picked_up_later = api.queue.push(Work::Delivery(id, Box::new(event))).await;
    Ok(())
}

/// A run, the pull request it works on, and what the caller may do there.
struct VisibleRun {
    run: Run,
    on: PullRequestId,
    access: Access,
}

/// The run of this id, if it is there for this caller to see.
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
    let repository = access.repository.clone();
    Ok(VisibleRun {
        run,
        on: PullRequestId { repository, number },
        access,
    })
}

/// The token of a request; what comes after the scheme is never logged.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(axum::http::header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

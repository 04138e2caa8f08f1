//! The page of one run on this machine, while the command that works on it runs. It has no journal besides what the
//! command tells it.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::middleware::from_fn_with_state;
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use jiff::Timestamp;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::folds::Folding;
use super::now::name_of;
use super::run::{OnGitHub, RunView};
use super::viewer::Viewer;
use super::{LocalPage, Missing, assets, door, live, with_headers, within_time};
use crate::domain::run::Step;
use crate::engine::CurrentActivity;

/// How many steps are shown at most.
const MAX_STEPS: usize = 20_000;

/// The steps of a run, as they happen.
pub struct Board {
    steps: Mutex<Vec<(Step, Option<Timestamp>)>>,
    length: watch::Sender<usize>,
    /// What the run is doing now.
    pub current: CurrentActivity,
}

impl Board {
    /// A board with the steps so far.
    pub fn new(steps: Vec<Step>) -> Self {
        Self {
            length: watch::Sender::new(steps.len()),
            // When these were recorded is not known.
            steps: Mutex::new(steps.into_iter().map(|step| (step, None)).collect()),
            current: CurrentActivity::default(),
        }
    }

    pub fn add(&self, step: Step) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() < MAX_STEPS {
            steps.push((step, Some(Timestamp::now())));
            self.length.send_replace(steps.len());
        }
    }

    /// The run as it is now, if this is its id.
    fn folded(&self, id: Option<&str>) -> Result<RunView, Missing> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut folding = Folding::default();
        for (step, at) in steps {
            folding.take(Some(step), at, 0)?;
        }
        let view = folding.view("the working tree")?;
        match id.is_none_or(|id| view.run.id().0 == id) {
            true => Ok(view),
            false => Err(Missing::Nothing),
        }
    }
}

/// Serves the page of one run, until it is dropped.
pub async fn serve_run(listener: TcpListener, board: Arc<Board>, page: LocalPage) {
    let pages = Router::new()
        .route("/", get(get_start))
        .route("/runs/{id}", get(get_run))
        .route("/runs/{id}/events", get(get_events))
        .with_state(board);
    let router = within_time(pages.merge(assets()))
        .layer(from_fn_with_state(page.clone(), door::only_with_cookie))
        .route("/enter", get(door::get_enter).with_state(page))
        .layer(from_fn_with_state("no-referrer", with_headers));
    super::super::connections::serve(&listener, &router, std::future::pending()).await;
}

async fn get_start(State(board): State<Arc<Board>>) -> Result<Response, Missing> {
    let view = board.folded(None)?;
    Ok(Redirect::to(&format!("/runs/{}", view.run.id())).into_response())
}

async fn get_run(State(board): State<Arc<Board>>, Path(id): Path<String>) -> Result<Response, Missing> {
    let view = board.folded(Some(&id))?;
    Ok(view.page(Viewer::Local.frame(), &OnGitHub::default(), board.current.now()))
}

async fn get_events(
    State(board): State<Arc<Board>>,
    Path(id): Path<String>,
    since: live::Asked,
) -> Result<Response, Missing> {
    board.folded(Some(&id))?;
    let mut lengths = board.length.subscribe();
    let now = (*lengths.borrow_and_update(), name_of(board.current.now()));
    // What the page shows may be older.
    let is_old = since.is_ok_and(|Query(since)| since.is_older(&id, now));
    let seen = Some(now).filter(|_| !is_old);
    let events = futures::stream::unfold((board, lengths, seen), async |(board, mut lengths, mut seen)| {
        loop {
            let now = (*lengths.borrow_and_update(), name_of(board.current.now()));
            if seen.replace(now) != Some(now) {
                return Some((Ok::<_, Infallible>(live::changed()), (board, lengths, seen)));
            }
            // What a run is doing changes without a new step, too.
            if let Ok(changed) = tokio::time::timeout(live::PAUSE, lengths.changed()).await {
                changed.ok()?;
            }
        }
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

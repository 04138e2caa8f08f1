//! The page of one run on this machine, while the command that works on it runs. It has no journal besides what the
//! command tells it.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::middleware::from_fn_with_state;
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::live;
use super::run::{self, Shown};
use super::viewer::Viewer;
use super::{LocalPage, Missing, assets, door, with_headers, within_time};
use crate::domain::run::{Run, Step};

/// How many steps are shown at most.
const MAX_STEPS: usize = 20_000;

/// The steps of a run, as they happen.
pub struct Board {
    steps: Mutex<Vec<Step>>,
    length: watch::Sender<usize>,
}

impl Board {
    /// A board with the steps so far.
    pub fn new(steps: Vec<Step>) -> Self {
        Self {
            length: watch::Sender::new(steps.len()),
            steps: Mutex::new(steps),
        }
    }

    pub fn add(&self, step: Step) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        if steps.len() < MAX_STEPS {
            steps.push(step);
            self.length.send_replace(steps.len());
        }
    }

    fn steps(&self) -> Vec<(usize, Step)> {
        let steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        steps.iter().cloned().enumerate().collect()
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

/// The run, if this is its id.
fn find(steps: &[(usize, Step)], id: Option<&str>) -> Result<Run, Missing> {
    let run = Run::salvage(steps.iter().map(|(_, step)| Some(step.clone()))).map_err(|_| Missing::Nothing)?;
    match id.is_none_or(|id| run.id().0 == id) {
        true => Ok(run),
        false => Err(Missing::Nothing),
    }
}

async fn get_start(State(board): State<Arc<Board>>) -> Result<Response, Missing> {
    let run = find(&board.steps(), None)?;
    Ok(Redirect::to(&format!("/runs/{}", run.id())).into_response())
}

async fn get_run(State(board): State<Arc<Board>>, Path(id): Path<String>) -> Result<Response, Missing> {
    let steps = board.steps();
    let run = find(&steps, Some(&id))?;
    Ok(run::show(Shown {
        run: &run,
        steps: &steps,
        branch: "the working tree",
        frame: Viewer::Local.frame(),
        notice: String::new(),
        may_answer: false,
    }))
}

async fn get_events(
    State(board): State<Arc<Board>>,
    Path(id): Path<String>,
    since: live::Asked,
) -> Result<Response, Missing> {
    let mut lengths = board.length.subscribe();
    let seen = lengths.borrow_and_update();
    let is_old = since.is_ok_and(|Query(since)| since.is_older(&id, *seen));
    drop(seen);
    if is_old {
        lengths.mark_changed();
    }
    find(&board.steps(), Some(&id))?;
    let events = futures::stream::unfold(lengths, async |mut lengths| {
        lengths.changed().await.ok()?;
        Some((Ok::<_, std::convert::Infallible>(live::changed()), lengths))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

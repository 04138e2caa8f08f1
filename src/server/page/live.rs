//! Tells the page when something has changed, as server-sent events. The page then loads itself again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use tokio::sync::Semaphore;

use super::{Missing, Shelf};
use crate::domain::id::RunId;

/// How many pages of the one person are told at once.
const MAX_LISTENERS: usize = 16;
/// How often the journal is asked.
const PAUSE: Duration = Duration::from_secs(1);
/// How many steps are read at a time.
const STEPS: usize = 500;

#[derive(Clone)]
pub(super) struct Listeners(Arc<Semaphore>);

impl Default for Listeners {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LISTENERS)))
    }
}

/// Changes of any run.
pub(super) async fn get_all(State(shelf): State<Shelf>) -> Response {
    tell(shelf, None)
}

/// New steps of one run.
pub(super) async fn get_one(State(shelf): State<Shelf>, Path(id): Path<String>) -> Result<Response, Missing> {
    let run = shelf
        .queue
        .app()
        .journal
        .find(&RunId(id))
        .await?
        .ok_or(Missing::Nothing)?;
    Ok(tell(shelf, Some(run.id().clone())))
}

fn tell(shelf: Shelf, run: Option<RunId>) -> Response {
    let Ok(place) = Arc::clone(&shelf.listeners.0).try_acquire_owned() else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let start = (shelf, run, None::<Lengths>, place);
    let events = futures::stream::unfold(start, async |(shelf, run, mut seen, place)| {
        loop {
            let now = lengths(&shelf, run.as_ref(), seen.as_ref()).await?;
            let is_first = seen.is_none();
            let has_changed = seen.as_ref() != Some(&now);
            seen = Some(now);
            if has_changed && !is_first {
                let event = Event::default().event("changed").data("");
                return Some((Ok::<_, Infallible>(event), (shelf, run, seen, place)));
            }
            tokio::time::sleep(PAUSE).await;
        }
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

/// The number of steps of each run that is not over, or of the one run.
type Lengths = Vec<(RunId, usize)>;

async fn lengths(shelf: &Shelf, run: Option<&RunId>, seen: Option<&Lengths>) -> Option<Lengths> {
    let journal = &shelf.queue.app().journal;
    let Some(id) = run else {
        let runs = journal.open_runs().await.ok()?;
        return Some(runs.iter().map(|run| (run.id().clone(), run.length)).collect());
    };
    let mut length = seen.and_then(|seen| Some(seen.first()?.1)).unwrap_or(0);
    loop {
        let more = journal.steps(id, length, STEPS).await.ok()?.len();
        length += more;
        if more < STEPS {
            return Some(vec![(id.clone(), length)]);
        }
    }
}

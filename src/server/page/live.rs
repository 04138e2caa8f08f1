//! Tells pages when something has changed, as server-sent events. The page then loads itself again.
//!
//! However many people watch, the journal is asked once a second for each run that is watched, and once for the overview.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use jiff::Timestamp;
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::viewer::{Viewer, VisibleRun};
use super::{Missing, Shelf};
use crate::domain::id::{AccountId, Repository, RunId};
use crate::journal::{Error, Journal};

/// How many pages are told at once, and how many of one person.
const MAX_LISTENERS: usize = 128;
const MAX_OF_PERSON: usize = 16;
/// How often the journal is asked.
const PAUSE: Duration = Duration::from_secs(1);
/// How often access is checked again.
const TRUSTED: Duration = Duration::from_secs(60);
/// How many steps are read at a time.
const STEPS: usize = 500;
/// How many open runs the overview shows. Older ones are on the pages of their repositories.
pub(super) const MAX_OPEN: usize = 500;

/// The number of steps of each run, with its repository. `None` before the journal was asked.
type Lengths = Option<Arc<Vec<(RunId, Option<Repository>, usize)>>>;
type Pollers = HashMap<Option<RunId>, watch::Sender<Lengths>>;

/// Who is told.
#[derive(Clone)]
pub(super) struct Listeners(Arc<Watchers>);

struct Watchers {
    places: Arc<Semaphore>,
    of_person: Mutex<HashMap<Option<AccountId>, usize>>,
    pollers: Mutex<Pollers>,
}

impl Default for Listeners {
    fn default() -> Self {
        Self(Arc::new(Watchers {
            places: Arc::new(Semaphore::new(MAX_LISTENERS)),
            of_person: Mutex::default(),
            pollers: Mutex::default(),
        }))
    }
}

/// A place for one page, until it is dropped.
struct Place {
    inner: Arc<Watchers>,
    of: Option<AccountId>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut of_person = self.inner.of_person.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = of_person.get_mut(&self.of) {
            *count -= 1;
            if *count == 0 {
                of_person.remove(&self.of);
            }
        }
    }
}

impl Listeners {
    /// `None` if there is no room.
    fn place(&self, viewer: &Viewer) -> Option<Place> {
        let permit = Arc::clone(&self.0.places).try_acquire_owned().ok()?;
        let of = viewer.person().map(|person| person.id);
        let mut of_person = self.0.of_person.lock().unwrap_or_else(PoisonError::into_inner);
        let count = of_person.entry(of).or_default();
        if *count == MAX_OF_PERSON {
            return None;
        }
        *count += 1;
        let inner = Arc::clone(&self.0);
        drop(of_person);
        Some(Place {
            inner,
            of,
            _permit: permit,
        })
    }

    /// The lengths of one run, or of all that are not over. The first who asks starts the task that asks the journal;
    /// it ends with the last.
    fn lengths(&self, shelf: &Shelf, run: Option<&RunId>) -> watch::Receiver<Lengths> {
        let key = run.cloned();
        let mut pollers = self.0.pollers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = pollers.get(&key) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        pollers.insert(key.clone(), sender.clone());
        drop(pollers);
        tokio::spawn(poll(shelf.clone(), key, sender));
        receiver
    }
}

/// Asks the journal until nobody listens.
async fn poll(shelf: Shelf, run: Option<RunId>, sender: watch::Sender<Lengths>) {
    loop {
        let seen = sender.borrow().clone();
        match lengths(&shelf.queue.app().journal, run.as_ref(), seen).await {
            Ok(now) => {
                sender.send_if_modified(|seen| {
                    let is_new = seen.as_deref() != Some(&now);
                    if is_new {
                        *seen = Some(Arc::new(now));
                    }
                    is_new
                });
            }
            Err(error) => tracing::warn!(%error, "the journal could not be read for the page"),
        }
        tokio::time::sleep(PAUSE).await;
        // Nobody can subscribe in between.
        let mut pollers = shelf.listeners.0.pollers.lock().unwrap_or_else(PoisonError::into_inner);
        if sender.receiver_count() == 0 {
            pollers.remove(&run);
            return;
        }
    }
}

async fn lengths(
    journal: &Journal,
    run: Option<&RunId>,
    seen: Lengths,
) -> Result<Vec<(RunId, Option<Repository>, usize)>, Error> {
    let Some(id) = run else {
        return journal.lengths_of_newest_open(MAX_OPEN).await;
    };
    let mut length = seen.and_then(|seen| Some(seen.first()?.2)).unwrap_or(0);
    loop {
        let more = journal.steps(id, length, STEPS).await?.len();
        length += more;
        if more < STEPS {
            return Ok(vec![(id.clone(), None, length)]);
        }
    }
}

/// Names a state of runs.
pub(super) fn token<'a>(lengths: impl IntoIterator<Item = (&'a RunId, usize)>) -> String {
    let mut lines: Vec<String> = lengths
        .into_iter()
        .map(|(id, length)| format!("{id} {length}\n"))
        .collect();
    lines.sort();
    hex::encode(&Sha256::digest(lines.concat())[..8])
}

/// What the page that asks was made of.
#[derive(Deserialize)]
pub(super) struct Since {
    seen: Option<String>,
}

impl Since {
    /// Whether the page was made of a run with another number of steps.
    pub(super) fn is_older(&self, run: &str, length: usize) -> bool {
        let now = token([(&RunId(run.into()), length)]);
        self.seen.as_ref().is_some_and(|seen| *seen != now)
    }
}

pub(super) type Asked = Result<Query<Since>, QueryRejection>;

/// Changes of any run.
pub(super) async fn get_all(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    since: Asked,
) -> Response {
    tell(shelf, viewer, None, since)
}

/// New steps of one run.
pub(super) async fn get_one(
    State(shelf): State<Shelf>,
    Extension(viewer): Extension<Viewer>,
    Path(id): Path<String>,
    since: Asked,
) -> Result<Response, Missing> {
    let VisibleRun { run, .. } = shelf.run(&viewer, id).await?;
    let on = run.started.pull_request().map(|on| on.repository.clone());
    Ok(tell(shelf, viewer, Some((run.id().clone(), on)), since))
}

/// One page that is told.
struct Listening {
    shelf: Shelf,
    viewer: Viewer,
    /// The one run, with its repository.
    run: Option<(RunId, Option<Repository>)>,
    lengths: watch::Receiver<Lengths>,
    /// What the page shows of the runs that the viewer may see.
    seen: Option<String>,
    _place: Place,
}

/// Browsers drop an event without data.
pub(super) fn changed() -> Event {
    Event::default().event("changed").data("1")
}

fn tell(shelf: Shelf, viewer: Viewer, run: Option<(RunId, Option<Repository>)>, since: Asked) -> Response {
    let Some(place) = shelf.listeners.place(&viewer) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let start = Listening {
        lengths: shelf.listeners.lengths(&shelf, run.as_ref().map(|(id, _)| id)),
        shelf,
        viewer,
        run,
        seen: since.ok().and_then(|Query(since)| since.seen),
        _place: place,
    };
    let events = futures::stream::unfold(start, async |mut listening| {
        listening.next().await?;
        Some((Ok::<_, Infallible>(changed()), listening))
    });
    Sse::new(events).keep_alive(KeepAlive::default()).into_response()
}

impl Listening {
    /// Returns when something has changed. `None` when the viewer may not see it any more.
    async fn next(&mut self) -> Option<()> {
        loop {
            let lengths = self.lengths.borrow_and_update().clone();
            if let Some(lengths) = lengths {
                let now = self.visible(&lengths).await.ok()?;
                let before = self.seen.replace(now);
                if before.is_some() && before != self.seen {
                    return Some(());
                }
            }
            match tokio::time::timeout(TRUSTED, self.lengths.changed()).await {
                Ok(Ok(())) | Err(_) => {}
                Ok(Err(_)) => return None,
            }
        }
    }

    /// Names the state of what the viewer may see, if they are still signed in.
    async fn visible(&self, lengths: &[(RunId, Option<Repository>, usize)]) -> Result<String, Missing> {
        if let Some(person) = self.viewer.person() {
            let journal = &self.shelf.queue.app().journal;
            let session = journal.session(&person.key, Timestamp::now()).await?;
            session.ok_or(Missing::Nothing)?;
        }
        if let Some((_, on)) = &self.run {
            if let Some(on) = on
                && !self.shelf.may_see(&self.viewer, on).await?
            {
                return Err(Missing::Nothing);
            }
            return Ok(token(lengths.iter().map(|(id, _, length)| (id, *length))));
        }
        let all: HashSet<Repository> = lengths.iter().filter_map(|(_, on, _)| on.clone()).collect();
        let visible = self.shelf.visible(&self.viewer, all.into_iter().collect()).await?;
        let is_local = self.viewer.person().is_none();
        let may_be_seen = |on: &Option<Repository>| is_local || on.as_ref().is_some_and(|on| visible.contains(on));
        let visible = lengths.iter().filter(|(_, on, _)| may_be_seen(on));
        Ok(token(visible.map(|(id, _, length)| (id, *length))))
    }
}

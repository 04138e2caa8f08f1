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

use super::now::name_of;
use super::viewer::{Viewer, VisibleRun};
use super::{Missing, Shelf};
use crate::domain::id::{AccountId, Repository, RunId};
use crate::engine::App;
use crate::journal::{Error, RunRow};

/// How many pages are told at once, and how many of one person.
const MAX_LISTENERS: usize = 512;
const MAX_OF_PERSON: usize = 16;
/// How often the journal is asked.
pub(super) const PAUSE: Duration = Duration::from_secs(1);
/// How often it is checked that a person is still signed in. What they may see is checked when there is something to tell.
const TRUSTED: Duration = Duration::from_secs(60);
/// How many open runs the overview shows. Older ones are on the pages of their repositories.
pub(super) const MAX_OPEN: usize = 500;

/// What there is to see of runs.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    /// With their numbers of steps.
    rows: Vec<RunRow>,
    /// What the one that is watched is doing in this process.
    doing: &'static str,
}

/// `None` before the journal was asked.
type Lengths = Option<Arc<Seen>>;
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
        match lengths(shelf.queue.app(), run.as_ref()).await {
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

async fn lengths(app: &App, run: Option<&RunId>) -> Result<Seen, Error> {
    let rows = match run {
        None => app.journal.open_rows(MAX_OPEN).await?,
        Some(id) => app.journal.row(id).await?.into_iter().collect(),
    };
    let doing = name_of(run.and_then(|id| app.activities.now(id)));
    Ok(Seen { rows, doing })
}

/// Names a state of runs, and what the one that is watched is doing.
pub(super) fn token<'a>(lengths: impl IntoIterator<Item = (&'a RunId, usize)>, doing: &str) -> String {
    let mut lines: Vec<String> = lengths
        .into_iter()
        .map(|(id, length)| format!("{id} {length}\n"))
        .collect();
    lines.sort();
    lines.push(doing.into());
    hex::encode(&Sha256::digest(lines.concat())[..8])
}

/// What the page that asks was made of.
#[derive(Deserialize)]
pub(super) struct Since {
    seen: Option<String>,
}

impl Since {
    /// Whether the page was made of a run with another number of steps, or that was doing something else.
    pub(super) fn is_older(&self, run: &str, (length, doing): (usize, &str)) -> bool {
        let now = token([(&RunId(run.into()), length)], doing);
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
    let VisibleRun { row, .. } = shelf.run(&viewer, id).await?;
    Ok(tell(shelf, viewer, Some(row.id), since))
}

/// One page that is told.
struct Listening {
    shelf: Shelf,
    viewer: Viewer,
    /// Whether it is told of one run.
    is_of_one: bool,
    lengths: watch::Receiver<Lengths>,
    /// What the page shows of the runs that the viewer may see.
    seen: Option<String>,
    _place: Place,
}

/// Browsers drop an event without data.
pub(super) fn changed() -> Event {
    Event::default().event("changed").data("1")
}

fn tell(shelf: Shelf, viewer: Viewer, run: Option<RunId>, since: Asked) -> Response {
    let Some(place) = shelf.listeners.place(&viewer) else {
        return StatusCode::SERVICE_UNAVAILABLE.into_response();
    };
    let start = Listening {
        is_of_one: run.is_some(),
        lengths: shelf.listeners.lengths(&shelf, run.as_ref()),
        shelf,
        viewer,
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
            loop {
                match tokio::time::timeout(TRUSTED, self.lengths.changed()).await {
                    Ok(changed) => break changed.ok()?,
                    Err(_) => self.is_signed_in().await.ok()?,
                }
            }
        }
    }

    async fn is_signed_in(&self) -> Result<(), Missing> {
        if let Some(person) = self.viewer.person() {
            let journal = &self.shelf.queue.app().journal;
            let session = journal.session(&person.key, Timestamp::now()).await?;
            session.ok_or(Missing::Nothing)?;
        }
        Ok(())
    }

    /// Names the state of what the viewer may see, if they are still signed in.
    async fn visible(&self, Seen { rows, doing }: &Seen) -> Result<String, Missing> {
        self.is_signed_in().await?;
        let all: HashSet<Repository> = rows.iter().map(|row| row.repository.clone()).collect();
        let visible = self.shelf.visible(&self.viewer, all.into_iter().collect()).await?;
        let visible: HashSet<&Repository> = visible.iter().collect();
        if self.is_of_one && rows.iter().any(|row| !visible.contains(&row.repository)) {
            return Err(Missing::Nothing);
        }
        let visible = rows.iter().filter(|row| visible.contains(&row.repository));
        Ok(token(visible.map(|row| (&row.id, row.length)), doing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Account;
    use crate::journal::SessionKey;
    use crate::server::page::viewer::Person;

    fn person(id: u64) -> Viewer {
        Viewer::Person(Arc::new(Person {
            id: AccountId(id),
            key: SessionKey(String::new()),
            account: Account::new("ada"),
            csrf: String::new(),
        }))
    }

    #[test]
    fn five_hundred_people_can_watch_and_one_cannot_take_their_places() {
        let listeners = Listeners::default();
        let one: Vec<Place> = (0..100).filter_map(|_| listeners.place(&person(0))).collect();
        assert_eq!(one.len(), MAX_OF_PERSON);
        drop(one);
        let mut all: Vec<Place> = (0..500).filter_map(|id| listeners.place(&person(id))).collect();
        assert_eq!(all.len(), 500);
        all.extend((500..2_000).filter_map(|id| listeners.place(&person(id))));
        assert_eq!(all.len(), MAX_LISTENERS);
        all.truncate(10);
        assert!(listeners.place(&person(7)).is_some());
    }
}

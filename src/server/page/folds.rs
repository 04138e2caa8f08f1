//! Runs as pages show them, folded once for everyone who looks.
//!
//! Each is kept at the step where it is now: when its journal grows, only the new steps are read, by the first who asks,
//! while the others wait for the result. Who may see a run is decided before, for each person.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use tokio::time::Instant;

use super::Missing;
use super::run::{RunView, branch};
use super::transcript::{MAX_SAID, Said, entry};
use crate::domain::id::RunId;
use crate::domain::run::{Run, Step};
use crate::engine::App;
use crate::journal::RunRow;
use crate::summary::Timeline;

/// How many runs are kept, and how many bytes of steps and pages in all. The least recently used ones make room.
const MAX_RUNS: usize = 256;
const MAX_BYTES: usize = 64 << 20;
/// How many steps are read at a time.
const STEPS: usize = 500;
/// How long GitHub's name of a branch is kept.
const NAMED: Duration = Duration::from_secs(60);

/// A run with what pages show of its steps. It grows with its journal.
#[derive(Default)]
pub(super) struct Folding {
    run: Option<Arc<Run>>,
    timeline: Timeline,
    /// The newest entries of the transcript, and how many came before them.
    said: VecDeque<Said>,
    left_out: usize,
    /// Entries after those. A page shows few of many, so they are made readable when one is asked for.
    unread: VecDeque<Value>,
    length: usize,
    /// About how much memory it needs.
    bytes: usize,
}

impl Folding {
    /// Adds the next step, which is this long; `None` is one that cannot be read.
    ///
    /// # Errors
    /// When the first step is not the start.
    pub(super) fn take(&mut self, step: Option<Step>, at: Option<Timestamp>, bytes: usize) -> Result<(), Missing> {
        let place = self.length;
        self.length += 1;
        if let Some(step) = &step {
            self.timeline.take((place, step, at));
            match step {
                Step::Said(item) | Step::Resolved(item) => {
                    self.unread.push_back(item.clone());
                    if self.unread.len() > MAX_SAID {
                        self.unread.pop_front();
                        self.left_out += 1;
                    }
                }
                _ => self.bytes += bytes,
            }
        }
        let Some(run) = &mut self.run else {
            let Some(Step::Started(started)) = step else {
                return Err(Missing::Nothing);
            };
            self.run = Some(Arc::new(Run::start(*started)));
            return Ok(());
        };
        let run = Arc::make_mut(run);
        run.take_readable(step);
        // Pages do not read these.
        run.said.clear();
        run.search.digests.clear();
        Ok(())
    }

    /// What a page shows now.
    ///
    /// # Errors
    /// When it has no steps.
    pub(super) fn view(&mut self, branch: &str) -> Result<RunView, Missing> {
        self.said.extend(self.unread.drain(..).map(|item| entry(&item)));
        let too_many = self.said.len().saturating_sub(MAX_SAID);
        self.said.drain(..too_many);
        self.left_out += too_many;
        let run = self.run.clone().ok_or(Missing::Nothing)?;
        RunView::new(run, (self.timeline.entries(), &self.said, self.left_out), branch)
    }
}

/// One run in the cache.
#[derive(Default)]
struct Slot {
    /// Of which run it is: an id can be used again.
    started: String,
    folding: Folding,
    branch: Option<(Instant, String)>,
    view: Option<Arc<RunView>>,
}

struct Kept {
    slot: Arc<tokio::sync::Mutex<Slot>>,
    used: u64,
    bytes: usize,
}

#[derive(Default)]
struct AllKept {
    runs: HashMap<RunId, Kept>,
    /// Incremented with every use.
    now: u64,
}

/// The runs that somebody looked at lately.
#[derive(Clone, Default)]
pub(super) struct Folds(Arc<Mutex<AllKept>>);

impl Folds {
    /// A run as it is now.
    pub(super) async fn view(&self, app: &App, row: &RunRow) -> Result<Arc<RunView>, Missing> {
        let slot = self.slot(&row.id);
        let mut slot = slot.lock().await;
        let seen = slot.advance(app, row).await;
        let bytes = slot.folding.bytes + slot.view.as_ref().map_or(0, |view| view.bytes());
        drop(slot);
        match &seen {
            Ok(_) => self.weigh(&row.id, bytes),
            Err(_) => self.forget(&row.id),
        }
        seen
    }

    fn forget(&self, id: &RunId) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).runs.remove(id);
    }

    fn slot(&self, id: &RunId) -> Arc<tokio::sync::Mutex<Slot>> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.now += 1;
        let now = all.now;
        let kept = all.runs.entry(id.clone()).or_insert_with(|| Kept {
            slot: Arc::default(),
            used: now,
            bytes: 0,
        });
        kept.used = now;
        Arc::clone(&kept.slot)
    }

    fn weigh(&self, id: &RunId, bytes: usize) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) = all.runs.get_mut(id) {
            kept.bytes = bytes;
        }
        while all.runs.len() > MAX_RUNS || all.runs.values().map(|kept| kept.bytes).sum::<usize>() > MAX_BYTES {
            let oldest = all.runs.iter().min_by_key(|(_, kept)| kept.used);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                return;
            };
            all.runs.remove(&oldest);
        }
    }
}

impl Slot {
    /// Reads what is new, and returns the run as it is then.
    async fn advance(&mut self, app: &App, row: &RunRow) -> Result<Arc<RunView>, Missing> {
        if self.started != row.started {
            *self = Self {
                started: row.started.clone(),
                ..Self::default()
            };
        }
        let before = self.folding.length;
        while self.folding.length < row.length {
            let steps = app.journal.steps(&row.id, self.folding.length, STEPS).await?;
            if steps.is_empty() {
                return Err(Missing::Nothing);
            }
            for stored in steps {
                let step = stored.step().map_err(|_newer| Missing::Nothing)?;
                self.folding.take(step, stored.at, stored.json.len())?;
            }
        }
        let is_readdressed = self.folding.readdress(row);
        let is_named = self.branch.as_ref().is_some_and(|(until, _)| *until > Instant::now());
        if let Some(view) = self
            .view
            .as_ref()
            .filter(|_| self.folding.length == before && !is_readdressed && is_named)
        {
            return Ok(Arc::clone(view));
        }
        let run = self.folding.run.clone().ok_or(Missing::Nothing)?;
        let name = match self.branch.take().filter(|_| is_named) {
            Some((until, name)) => (until, name),
            None => (Instant::now() + NAMED, branch(app, &run).await),
        };
        let view = Arc::new(self.folding.view(&name.1)?);
        self.branch = Some(name);
        self.view = Some(Arc::clone(&view));
        Ok(view)
    }
}

impl Folding {
    /// Gives the run the current name and installation of its repository. Returns whether they differ.
    fn readdress(&mut self, row: &RunRow) -> bool {
        let Some(run) = &mut self.run else { return false };
        let has = run
            .started
            .pull_request()
            .map(|on| (on.repository.id, &on.repository.name));
        let installation = row.installation.or(run.started.installation);
        if has == Some((row.repository.id, &row.repository.name)) && run.started.installation == installation {
            return false;
        }
        let started = &mut Arc::make_mut(run).started;
        if let Some(on) = started.pull_request_mut() {
            on.repository = row.repository.clone();
        }
        started.installation = installation;
        true
    }
}

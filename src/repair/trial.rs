//! Runs the tests on a candidate: the failing ones first, then all, then all again in a fresh copy of the tree.
//!
//! Candidates share workspaces, because a warm build is what makes a trial cheap. Whatever the code under test leaves
//! behind there can make a wrong candidate look good only until the fresh copy.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::checkout::Workspace;
use crate::domain::id::RepoPath;
use crate::domain::test_run::{Outcome, TestRun, is_better};
use crate::sandbox;
use crate::suite::{self, Framework, Suite};

use super::Task;
use super::candidates::Candidate;

/// At most so many trials run at a time.
const MAX_LANES: usize = 8;
/// How long a candidate may take where the tests without it never end, so that nothing can be measured.
const UNMEASURED: Duration = Duration::from_secs(30);

/// What came of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The whole suite is better with the candidate, in a fresh copy of the tree.
    Better,
    NotBetter,
    /// Cancelled before there was a result.
    Stopped,
}

/// Where candidates are tried.
pub(super) struct Bench<'a> {
    task: &'a Task<'a>,
    /// Tests that fail without a candidate; all when empty.
    only: Vec<String>,
    /// The suite with the time limit of one trial.
    short: Suite,
    lanes: Mutex<Vec<Lane>>,
    free: Semaphore,
}

/// A copy of the tree, in which one file may differ from the original.
struct Lane {
    workspace: Workspace,
    edited: Option<RepoPath>,
}

impl<'a> Bench<'a> {
    /// Runs the failing tests without any candidate, once to build and once to see how long they take. None when
    /// they don't fail here, so that nothing could be learned from them, or when stopped.
    pub(super) async fn set_up(
        task: &'a Task<'a>,
        first: &RepoPath,
        stop: &CancellationToken,
    ) -> Result<Option<Self>, suite::Error> {
        let lanes = match task.suite.command.framework {
            // Cargo uses all cores itself, and every lane would be a build of its own.
            Framework::Cargo => 1,
            _ => std::thread::available_parallelism()
                .map_or(1, usize::from)
                .min(MAX_LANES),
        };
        let mut bench = Self {
            task,
            only: task.before.failing_names().map(String::from).collect(),
            short: task.suite.clone(),
            lanes: Mutex::default(),
            free: Semaphore::new(lanes),
        };
        if task.before.outcome == Outcome::TimedOut {
            bench.limit(UNMEASURED);
            return Ok(Some(bench));
        }
        let lane = Lane::new(task).await?;
        let mut built = suite::run(task.suite, &lane.workspace, &bench.only, stop).await?;
        if !is_red(&built) && !bench.only.is_empty() {
            // They fail together with others only, or the framework does not find them by name.
            bench.only.clear();
            built = suite::run(task.suite, &lane.workspace, &[], stop).await?;
        }
        if stop.is_cancelled() || !is_red(&built) {
            return Ok(None);
        }
        // As if there were a candidate, so that what is rebuilt for one is measured too.
        lane.restore(task, first).map_err(sandbox::Error::Broken)?;
        let started = Instant::now();
        suite::run(task.suite, &lane.workspace, &bench.only, stop).await?;
        let baseline = started.elapsed();
        bench.limit((baseline * 10).max(baseline + Duration::from_secs(2)));
        bench.give_back(lane);
        Ok((!stop.is_cancelled()).then_some(bench))
    }

    /// How many candidates can be tried at the same time.
    pub(super) fn lanes(&self) -> usize {
        self.free.available_permits().max(1)
    }

    fn limit(&mut self, limit: Duration) {
        self.short.command.timeout = limit.min(self.task.suite.command.timeout);
    }

    /// Judges one candidate.
    pub(super) async fn trial(&self, candidate: &Candidate, stop: &CancellationToken) -> Result<Verdict, suite::Error> {
        let Ok(_place) = self.free.acquire().await else {
            return Ok(Verdict::Stopped);
        };
        if stop.is_cancelled() {
            return Ok(Verdict::Stopped);
        }
        let mut lane = match self.take() {
            Some(lane) => lane,
            None => Lane::new(self.task).await?,
        };
        if lane.put(self.task, candidate).is_err() {
            // The code under test has changed the copy so much that it cannot be used any more.
            lane = Lane::new(self.task).await?;
            lane.put(self.task, candidate).map_err(sandbox::Error::Broken)?;
        }
        let looks_better = self.passes(&lane, stop).await?;
        self.give_back(lane);
        if looks_better {
            let mut edited = self.task.checkout.clone();
            edited.edit_text(candidate.path.clone(), candidate.text.as_str());
            let fresh = suite::run_fresh(self.task.suite, &edited, &[], stop).await?;
            if is_better(self.task.before, &fresh).is_ok() {
                return Ok(Verdict::Better);
            }
        }
        Ok(if stop.is_cancelled() {
            Verdict::Stopped
        } else {
            Verdict::NotBetter
        })
    }

    /// Whether the failing tests pass in the lane as it is now, and then all of them.
    async fn passes(&self, lane: &Lane, stop: &CancellationToken) -> Result<bool, suite::Error> {
        let run = suite::run(&self.short, &lane.workspace, &self.only, stop).await?;
        if !run.is_green() || self.only.is_empty() {
            return Ok(is_better(self.task.before, &run).is_ok());
        }
        let mut whole = self.task.suite.clone();
        let before = Duration::from_millis(self.task.before.duration_ms);
        if !before.is_zero() {
            let limit = (before * 10)
                .max(before + Duration::from_secs(2))
                .max(self.short.command.timeout);
            whole.command.timeout = limit.min(whole.command.timeout);
        }
        let run = suite::run(&whole, &lane.workspace, &[], stop).await?;
        Ok(is_better(self.task.before, &run).is_ok())
    }

    fn take(&self) -> Option<Lane> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    fn give_back(&self, lane: Lane) {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }
}

impl Lane {
    async fn new(task: &Task<'_>) -> Result<Self, suite::Error> {
        let (checkout, within) = (task.checkout.clone(), task.suite.workspaces.clone());
        let copied = tokio::task::spawn_blocking(move || checkout.workspace(&within)).await;
        let workspace = copied.map_err(|error| sandbox::Error::Broken(io::Error::other(error)))??;
        Ok(Self {
            workspace,
            edited: None,
        })
    }

    /// Makes the tree the original one with this candidate.
    ///
    /// Every write gives the file a new time, also the one that brings the original back: builds go by times, and
    /// must not take an old result for a current one.
    fn put(&mut self, task: &Task<'_>, candidate: &Candidate) -> io::Result<()> {
        if let Some(edited) = self.edited.take().filter(|edited| *edited != candidate.path) {
            self.restore(task, &edited)?;
        }
        let mut edited = task.checkout.clone();
        edited.edit_text(candidate.path.clone(), candidate.text.as_str());
        if let Some(blob) = edited.read(&candidate.path) {
            self.workspace.put(&candidate.path, &blob)?;
        }
        self.edited = Some(candidate.path.clone());
        Ok(())
    }

    fn restore(&self, task: &Task<'_>, path: &RepoPath) -> io::Result<()> {
        match task.checkout.read(path) {
            Some(blob) => self.workspace.put(path, &blob),
            None => Ok(()),
        }
    }
}

fn is_red(run: &TestRun) -> bool {
    matches!(run.outcome, Outcome::Failed | Outcome::TimedOut | Outcome::Crashed)
}

//! Judges a candidate by running the test command itself: the failing tests first, then all.
//!
//! Candidates share workspaces, because a warm build is what makes a trial cheap. Files that the code under test
//! leaves behind can make a wrong candidate look good, but only until it is run in a fresh copy.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use greenlight_anchor::RepoPath;
use greenlight_anchor::patch::Blob;
use greenlight_readers::test_run::{Outcome, TestRun, is_better};
use greenlight_sandbox as sandbox;
use greenlight_suite as suite;
use greenlight_suite::{Runtime, Suite};
use greenlight_tree::checkout::Workspace;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::candidates::Candidate;
use super::verdict::{CandidateVerdict, workers};
use crate::task::Task;

/// Time limit of a candidate if the tests without it never end, so that nothing can be measured.
const UNMEASURED: Duration = Duration::from_secs(30);

/// Options that select what cargo builds.
const TARGETS: [&str; 9] = [
    "--lib",
    "--bins",
    "--bin",
    "--tests",
    "--test",
    "--doc",
    "--all-targets",
    "--examples",
    "--example",
];

/// Runs candidates in a few workspaces.
pub(super) struct ProcessRunner<'a> {
    task: &'a Task<'a>,
    /// Tests that fail without a candidate; all if empty.
    only: Vec<String>,
    /// The suite with the time limit of one trial.
    short: Suite,
    lanes: Mutex<Vec<Lane>>,
    free: Semaphore,
}

/// A copy of the tree, in which some files may differ from the original.
struct Lane {
    workspace: Workspace,
    edited: Vec<RepoPath>,
}

impl<'a> ProcessRunner<'a> {
    /// Runs the failing tests without any candidate, once to build and once to measure them. `None` if they do not
    /// fail here, so that nothing could be learned from them, or if stopped.
    pub(super) async fn set_up(task: &'a Task<'a>, stop: &CancellationToken) -> Result<Option<Self>, suite::Error> {
        let lanes = match task.suite.runtime() {
            // Cargo uses all cores, and every lane would need a separate build.
            Some(Runtime::Cargo) => 1,
            _ => workers(),
        };
        let mut bench = Self {
            task,
            only: Vec::new(),
            short: task.suite.for_purpose(suite::Purpose::Search),
            lanes: Mutex::default(),
            free: Semaphore::new(lanes),
        };
        if task.before.outcome == Outcome::TimedOut {
            bench.limit(UNMEASURED);
            return Ok(Some(bench));
        }
        let mut lane = Lane::new(task).await?;
        if !bench.narrow_down(&lane, stop).await? {
            return Ok(None);
        }
        // Touch a file as a candidate would, so that the rebuild is measured too.
        let mut places = task
            .before
            .failures
            .iter()
            .filter_map(|failure| failure.location.as_ref());
        if let Some(path) = places.find_map(|place| place.path.parse().ok())
            && let Some(original) = task.checkout.read(&path)
        {
            lane.put(task, &[(path, original)]).await?;
        }
        let started = Instant::now();
        suite::run(&bench.short, &lane.workspace, &bench.only, stop).await?;
        let baseline = started.elapsed();
        bench.limit((baseline * 10).max(baseline + Duration::from_secs(2)));
        bench.give_back(lane);
        Ok((!stop.is_cancelled()).then_some(bench))
    }

    /// Finds the smallest command that still makes the failing tests fail. Returns false if they do not fail here.
    async fn narrow_down(&mut self, lane: &Lane, stop: &CancellationToken) -> Result<bool, suite::Error> {
        let whole = &self.task.suite.for_purpose(suite::Purpose::Search);
        // A diagnostic, or a file that cannot be loaded, is no test: none of its name would run once that is repaired.
        let is_of_tests = !matches!(
            self.task.before.outcome,
            Outcome::DidNotBuild | Outcome::Flagged | Outcome::DidNotCollect | Outcome::MissingModule
        );
        let failing = self.task.before.failing_names().filter(|_| is_of_tests);
        let failing: Vec<String> = failing.map(String::from).collect();
        let mut ways = vec![(whole.clone(), Vec::new())];
        if !failing.is_empty() {
            ways.insert(0, (whole.clone(), failing.clone()));
        }
        if let Some(targets) = targets(self.task) {
            let mut narrow = whole.clone();
            narrow.command.argv.splice(2..2, targets);
            ways.insert(0, (narrow, failing));
        }
        for (suite, only) in ways {
            let run = suite::run(&suite, &lane.workspace, &only, stop).await?;
            if stop.is_cancelled() {
                return Ok(false);
            }
            // Otherwise the framework does not find the tests by name, or they only fail together with others.
            if is_red(&run) {
                (self.short, self.only) = (suite, only);
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// How many candidates can be tried at the same time.
    pub(super) fn lanes(&self) -> usize {
        self.free.available_permits().max(1)
    }

    fn limit(&mut self, limit: Duration) {
        self.short.command.timeout = limit.min(self.task.suite.command.timeout);
    }

    /// Judges candidates one after the other.
    pub(super) async fn judge(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Vec<CandidateVerdict>, suite::Error> {
        let mut verdicts = Vec::new();
        for candidate in candidates {
            verdicts.push(self.trial(candidate, stop).await?);
        }
        Ok(verdicts)
    }

    async fn trial(&self, candidate: &Candidate, stop: &CancellationToken) -> Result<CandidateVerdict, suite::Error> {
        let Ok(_place) = self.free.acquire().await else {
            return Ok(CandidateVerdict::Stopped);
        };
        if stop.is_cancelled() {
            return Ok(CandidateVerdict::Stopped);
        }
        let mut lane = match self.take() {
            Some(lane) => lane,
            None => Lane::new(self.task).await?,
        };
        let tree = candidate.tree(self.task.checkout);
        let paths = [&candidate.path]
            .into_iter()
            .chain(candidate.others.iter().map(|(path, _)| path));
        let blobs: Vec<(RepoPath, Blob)> = paths
            .filter_map(|path| Some((path.clone(), tree.read(path)?)))
            .collect();
        lane.put(self.task, &blobs).await?;
        let passes = self.passes(&lane, stop).await?;
        self.give_back(lane);
        Ok(match passes {
            true => CandidateVerdict::Passes,
            false if stop.is_cancelled() => CandidateVerdict::Stopped,
            false => CandidateVerdict::Fails,
        })
    }

    /// Whether the failing tests pass in the lane as it is now, and then all tests.
    async fn passes(&self, lane: &Lane, stop: &CancellationToken) -> Result<bool, suite::Error> {
        let run = suite::run(&self.short, &lane.workspace, &self.only, stop).await?;
        if !run.is_green() || self.only.is_empty() {
            return Ok(is_better(self.task.before, &run).is_ok());
        }
        let mut whole = self.task.suite.for_purpose(suite::Purpose::Search);
        let before = self.task.before.duration_from_scratch();
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
        Ok(Self {
            workspace: task.checkout.fresh_copy(&task.suite.workspaces).await?,
            edited: Vec::new(),
        })
    }

    /// Restores the original tree, except for these files.
    async fn put(&mut self, task: &Task<'_>, blobs: &[(RepoPath, Blob)]) -> Result<(), suite::Error> {
        if self.write(task, blobs).is_err() {
            // The code under test has changed the copy so much that it is unusable.
            *self = Self::new(task).await?;
            self.write(task, blobs).map_err(sandbox::Error::Broken)?;
        }
        Ok(())
    }

    /// Every write gives the file a new modification time, even if it restores the original: builds compare times,
    /// and must not mistake an old result for a current one.
    fn write(&mut self, task: &Task<'_>, blobs: &[(RepoPath, Blob)]) -> io::Result<()> {
        for edited in std::mem::take(&mut self.edited) {
            let is_written = blobs.iter().any(|(path, _)| *path == edited);
            if let Some(original) = task.checkout.read(&edited).filter(|_| !is_written) {
                self.workspace.put(&edited, &original)?;
            }
        }
        for (path, blob) in blobs {
            self.edited.push(path.clone());
            self.workspace.put(path, blob)?;
        }
        Ok(())
    }
}

/// Options with which cargo builds only the test binaries whose sources seem to contain the failures.
pub(super) fn targets(task: &Task<'_>) -> Option<Vec<String>> {
    let command = &task.suite.command;
    let is_plain =
        task.suite.runtime() == Some(Runtime::Cargo) && command.argv.starts_with(&["cargo".into(), "test".into()]);
    if !is_plain || command.argv.iter().any(|word| is_target(word)) {
        return None;
    }
    let mut targets = BTreeSet::new();
    for failure in &task.before.failures {
        let path = &failure.location.as_ref()?.path;
        if path.split('/').any(|folder| folder == "src") {
            targets.insert("--lib".to_string());
        } else {
            let (_, file) = path.split_once("tests/")?;
            let name = file.split('/').next()?.trim_end_matches(".rs");
            targets.insert(format!("--test={name}"));
        }
    }
    (!targets.is_empty()).then(|| targets.into_iter().collect())
}

/// Whether an option selects what cargo builds.
pub(super) fn is_target(word: &str) -> bool {
    TARGETS.contains(&word.split('=').next().unwrap_or(word))
}

fn is_red(run: &TestRun) -> bool {
    run.outcome.is_red()
}

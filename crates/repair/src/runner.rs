//! The ways to try candidates; the fastest one that reproduces the failure is used. A runner's verdict is a claim of
//! the code under test and only orders the search; proof requires a fresh run of the whole suite.

use std::time::Duration;

use greenlight_readers::test_run::Outcome;
use greenlight_suite as suite;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::candidates::Candidate;
use super::spectrum::Spectrum;
use super::verdict::{BehaviourComparison, CandidateVerdict};
use super::{process_runner, schemata, warm};
use crate::task::Task;
use crate::template::EditKind;

/// A way to try candidates.
pub(super) enum Runner<'a> {
    /// In an interpreter that has everything loaded.
    Warm(Box<warm::Pool<'a>>, Box<WholeRuns<'a>>),
    /// Many candidates compiled into one program, each behind a switch.
    Schemata(Box<schemata::Build<'a>>, Box<WholeRuns<'a>>),
    /// A new process of the test command for each candidate.
    Process(Box<process_runner::ProcessRunner<'a>>),
}

/// Whole runs for candidates that a faster way cannot try, because they edit several files, for example; set up with
/// the first of them.
pub(super) struct WholeRuns<'a> {
    task: &'a Task<'a>,
    runner: OnceCell<Option<process_runner::ProcessRunner<'a>>>,
}

impl<'a> Runner<'a> {
    /// Picks the fastest way in which the failing tests fail without a candidate. `None` if there is no such way, or
    /// when stopped.
    pub(super) async fn set_up(task: &'a Task<'a>, stop: &CancellationToken) -> Result<Option<Self>, suite::Error> {
        if !is_searched(task.before.outcome) {
            return Ok(process_runner::ProcessRunner::set_up(task, stop)
                .await?
                .map(|bench| Self::Process(Box::new(bench))));
        }
        if let Some(pool) = warm::Pool::set_up(task, stop).await? {
            return Ok(Some(Self::Warm(Box::new(pool), WholeRuns::of(task))));
        }
        if let Some(build) = schemata::Build::set_up(task, stop).await? {
            return Ok(Some(Self::Schemata(Box::new(build), WholeRuns::of(task))));
        }
        Ok(process_runner::ProcessRunner::set_up(task, stop)
            .await?
            .map(|bench| Self::Process(Box::new(bench))))
    }

    /// How many batches may be judged at the same time.
    pub(super) fn lanes(&self) -> usize {
        match self {
            Self::Warm(pool, _) => pool.lanes(),
            Self::Schemata(..) => 1,
            Self::Process(bench) => bench.lanes(),
        }
    }

    /// The best batch size after this many candidates were judged. The first batches are small, because the fix is
    /// often among the first candidates.
    pub(super) fn batch(&self, judged: u32) -> usize {
        match self {
            Self::Warm(pool, _) => pool.batch(judged),
            Self::Schemata(build, _) => build.batch(judged),
            Self::Process(_) => 1,
        }
    }

    /// What the tests execute, as far as this can be measured in the given time. `None` if it cannot.
    pub(super) async fn spectrum(
        &self,
        wall: Duration,
        stop: &CancellationToken,
    ) -> Result<Option<Spectrum>, suite::Error> {
        match self {
            Self::Warm(pool, _) => pool.spectrum(wall, stop).await,
            Self::Schemata(build, _) => build.spectrum(wall, stop).await,
            Self::Process(_) => Ok(None),
        }
    }

    /// Judges candidates; returns a verdict for each, in their order.
    pub(super) async fn judge(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Vec<CandidateVerdict>, suite::Error> {
        // Boxed, because these futures are large and a worker's stack is small.
        let whole = match self {
            Self::Warm(_, whole) | Self::Schemata(_, whole) => whole,
            Self::Process(bench) => return Box::pin(bench.judge(candidates, stop)).await,
        };
        // A loaded interpreter may not load again what it failed to load.
        let is_loaded = whole.task.before.outcome != Outcome::DidNotCollect;
        let is_single = |candidate: &Candidate| {
            let kind = candidate.template.kind();
            candidate.others.is_empty() && (is_loaded || !matches!(kind, EditKind::Hint | EditKind::Revert))
        };
        if candidates.iter().all(is_single) {
            return self.judge_single(candidates, stop).await;
        }
        let mut verdicts = Vec::new();
        for candidate in candidates {
            let one = std::slice::from_ref(candidate);
            verdicts.extend(match is_single(candidate) {
                true => self.judge_single(one, stop).await?,
                false => Box::pin(whole.judge(one, stop)).await?,
            });
        }
        Ok(verdicts)
    }

    async fn judge_single(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Vec<CandidateVerdict>, suite::Error> {
        match self {
            Self::Warm(pool, _) => Box::pin(pool.judge(candidates, stop)).await,
            Self::Schemata(build, _) => Box::pin(build.judge(candidates, stop)).await,
            Self::Process(bench) => Box::pin(bench.judge(candidates, stop)).await,
        }
    }

    /// Whether this runner can compare behaviours.
    pub(super) fn can_compare(&self) -> bool {
        matches!(self, Self::Warm(..))
    }

    /// What the functions that these candidates edit do with inputs recorded from the tests, and with inputs derived
    /// from those. One behaviour for each candidate, or `None` if it cannot be determined.
    pub(super) async fn behaviours(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Option<BehaviourComparison>, suite::Error> {
        match self {
            Self::Warm(pool, _) if candidates.iter().all(|candidate| candidate.others.is_empty()) => {
                pool.behaviours(candidates, stop).await
            }
            _ => Ok(None),
        }
    }
}

impl<'a> WholeRuns<'a> {
    fn of(task: &'a Task<'a>) -> Box<Self> {
        Box::new(Self {
            task,
            runner: OnceCell::new(),
        })
    }

    /// A candidate fails if the failure does not occur this way.
    async fn judge(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Vec<CandidateVerdict>, suite::Error> {
        let set_up = || process_runner::ProcessRunner::set_up(self.task, stop);
        match self.runner.get_or_try_init(set_up).await? {
            Some(runner) => runner.judge(candidates, stop).await,
            None if stop.is_cancelled() => Ok(vec![CandidateVerdict::Stopped; candidates.len()]),
            None => Ok(vec![CandidateVerdict::Fails; candidates.len()]),
        }
    }
}

/// Whether small edits are tried. They seldom fix code that does not build, or that a linter complains about, but
/// reverting a hunk may. An error while tests are loaded counts as executed code.
pub(super) fn is_searched(outcome: Outcome) -> bool {
    matches!(
        outcome,
        Outcome::Failed
            | Outcome::Panicked
            | Outcome::TimedOut
            | Outcome::Crashed
            | Outcome::OutOfMemory
            | Outcome::DidNotCollect
    )
}

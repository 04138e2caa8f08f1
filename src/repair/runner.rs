//! The ways to try candidates, the fastest that shows the failure first. What a runner says is a claim of the code under
//! test and orders the search; only a fresh run of the whole suite counts as proof.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::candidates::Candidate;
use super::spectrum::Spectrum;
use super::verdict::{Behaviour, CandidateVerdict};
use super::{Task, process_runner, schemata, warm};
use crate::suite;

/// Where candidates are tried.
pub(super) enum Runner<'a> {
    /// In an interpreter that has everything loaded.
    Warm(Box<warm::Pool<'a>>),
    /// Many compiled into one program, each behind a switch.
    Schemata(Box<schemata::Build<'a>>),
    /// A new process of the test command each.
    Process(Box<process_runner::ProcessRunner<'a>>),
}

impl<'a> Runner<'a> {
    /// Settles on the fastest way in which the failing tests fail without a candidate. `None` when there is no such
    /// way, or when stopped.
    pub(super) async fn set_up(task: &'a Task<'a>, stop: &CancellationToken) -> Result<Option<Self>, suite::Error> {
        if !super::is_searched(task.before.outcome) {
            return Ok(process_runner::ProcessRunner::set_up(task, stop)
                .await?
                .map(|bench| Self::Process(Box::new(bench))));
        }
        if let Some(pool) = warm::Pool::set_up(task, stop).await? {
            return Ok(Some(Self::Warm(Box::new(pool))));
        }
        if let Some(build) = schemata::Build::set_up(task, stop).await? {
            return Ok(Some(Self::Schemata(Box::new(build))));
        }
        Ok(process_runner::ProcessRunner::set_up(task, stop)
            .await?
            .map(|bench| Self::Process(Box::new(bench))))
    }

    /// How many batches may be judged at the same time.
    pub(super) fn lanes(&self) -> usize {
        match self {
            Self::Warm(pool) => pool.lanes(),
            Self::Schemata(_) => 1,
            Self::Process(bench) => bench.lanes(),
        }
    }

    /// How many candidates are best judged in one go, when this many were judged before: the first are few, because
    /// among them the fix often is.
    pub(super) fn batch(&self, judged: u32) -> usize {
        match self {
            Self::Warm(pool) => pool.batch(judged),
            Self::Schemata(_) => schemata::Build::batch(judged),
            Self::Process(_) => 1,
        }
    }

    /// What the tests execute, as far as it can be found out in this time. `None` where it cannot.
    pub(super) async fn spectrum(
        &self,
        wall: Duration,
        stop: &CancellationToken,
    ) -> Result<Option<Spectrum>, suite::Error> {
        match self {
            Self::Warm(pool) => pool.spectrum(wall, stop).await,
            Self::Schemata(build) => build.spectrum(wall, stop).await,
            Self::Process(_) => Ok(None),
        }
    }

    /// Judges candidates: a verdict for each, in their order.
    pub(super) async fn judge(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Vec<CandidateVerdict>, suite::Error> {
        match self {
            Self::Warm(pool) => pool.judge(candidates, stop).await,
            Self::Schemata(build) => build.judge(candidates, stop).await,
            Self::Process(bench) => bench.judge(candidates, stop).await,
        }
    }

    /// Whether behaviours can be found out here.
    pub(super) fn can_compare(&self) -> bool {
        matches!(self, Self::Warm(_))
    }

    /// What the functions that these candidates edit do with inputs that were seen in the tests, and with inputs made from
    /// those; one for each candidate, or none where that cannot be found out.
    pub(super) async fn behaviours(
        &self,
        candidates: &[Candidate],
        stop: &CancellationToken,
    ) -> Result<Option<Vec<Behaviour>>, suite::Error> {
        match self {
            Self::Warm(pool) => pool.behaviours(candidates, stop).await,
            Self::Schemata(_) | Self::Process(_) => Ok(None),
        }
    }
}

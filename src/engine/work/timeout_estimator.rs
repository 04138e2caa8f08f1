//! Estimates how long a test command may take from its earlier runs, so that a hanging one is noticed early.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use crate::checkout::Workspace;
use crate::domain::clock::millis;
use crate::domain::test_run::{Outcome, TestRun};
use crate::suite::{self, Suite};

/// A run may take this many times the longest earlier run, plus this part of the configured limit.
const TIMES: u32 = 3;
const PART: u32 = 60;
/// A run that reaches this limit is repeated with this many times the limit, because the machine may be busy.
const EXTENSION: u32 = 4;

/// The known durations of one command on one tree.
#[derive(Debug)]
pub(super) struct TimeoutEstimator {
    configured: Duration,
    /// In milliseconds; 0 if none has ended.
    longest: AtomicU64,
    /// Whether a run reached the extended limit, too.
    hangs: AtomicBool,
}

impl TimeoutEstimator {
    /// Only the configured limit is known so far.
    pub(super) fn new(configured: Duration) -> Self {
        Self {
            configured,
            longest: AtomicU64::new(0),
            hangs: AtomicBool::new(false),
        }
    }

    /// Records a run that ended after this time.
    pub(super) fn saw(&self, took: Duration) {
        self.longest.fetch_max(millis(took), Ordering::Relaxed);
    }

    /// How long the next run may take.
    pub(super) fn limit(&self) -> Duration {
        match self.longest.load(Ordering::Relaxed) {
            0 => self.configured,
            longest => {
                let longest = Duration::from_millis(longest);
                let limit = longest.saturating_mul(TIMES).saturating_add(self.configured / PART);
                limit.min(self.configured)
            }
        }
    }

    /// Runs tests in a workspace. The first run that reaches a derived limit is repeated with a longer one before it
    /// counts as too slow.
    ///
    /// # Errors
    /// When the sandbox cannot be used.
    pub(super) async fn run(
        &self,
        suite: &Suite,
        workspace: &Workspace,
        only: &[String],
        cancel: &CancellationToken,
    ) -> Result<TestRun, Broken> {
        let mut limited = suite.clone();
        limited.command.timeout = self.limit();
        let mut run = suite::run(&limited, workspace, only, cancel).await?;
        let may_hang = |run: &TestRun| run.outcome == Outcome::TimedOut && limited.command.timeout < self.configured;
        if may_hang(&run) && !self.hangs.load(Ordering::Relaxed) && !cancel.is_cancelled() {
            let extended = limited.command.timeout.saturating_mul(EXTENSION);
            limited.command.timeout = extended.min(self.configured);
            run = suite::run(&limited, workspace, only, cancel).await?;
            self.hangs.fetch_or(run.outcome == Outcome::TimedOut, Ordering::Relaxed);
        }
        // A run that was stopped says nothing about how long one takes.
        if !matches!(run.outcome, Outcome::TimedOut | Outcome::DidNotStart) {
            self.saw(run.duration_from_scratch());
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_may_take_three_times_the_longest_and_never_more_than_configured() {
        let seconds = Duration::from_secs;
        let pace = TimeoutEstimator::new(seconds(600));
        assert_eq!(pace.limit(), seconds(600));
        pace.saw(seconds(10));
        assert_eq!(pace.limit(), seconds(40));
        pace.saw(seconds(2));
        assert_eq!(pace.limit(), seconds(40));
        pace.saw(seconds(300));
        assert_eq!(pace.limit(), seconds(600));
        pace.saw(Duration::MAX);
        assert_eq!(pace.limit(), seconds(600));
    }
}

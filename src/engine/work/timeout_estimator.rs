//! Estimates how long a test command may take from its earlier runs, so that a hanging one is noticed early.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use crate::checkout::Workspace;
use crate::domain::clock::millis;
use crate::domain::test_run::{Outcome, TestRun};
use crate::suite::{self, Suite};

/// A run may take this many times the longest earlier run, plus this much.
const TIMES: u32 = 3;
const FLOOR: Duration = Duration::from_secs(30);

/// The known durations of one command on one tree.
#[derive(Debug)]
pub(super) struct TimeoutEstimator {
    configured: Duration,
    /// In milliseconds; 0 if none has ended.
    longest: AtomicU64,
}

impl TimeoutEstimator {
    /// Only the configured limit is known so far.
    pub(super) fn new(configured: Duration) -> Self {
        Self {
            configured,
            longest: AtomicU64::new(0),
        }
    }

    /// Records a run that ended after this time.
    pub(super) fn saw(&self, took: Duration) {
        self.longest.fetch_max(millis(took), Ordering::Relaxed);
    }

    /// How long the next run may take.
    fn limit(&self) -> Duration {
        match self.longest.load(Ordering::Relaxed) {
            0 => self.configured,
            longest => {
                let longest = Duration::from_millis(longest);
                longest.saturating_mul(TIMES).saturating_add(FLOOR).min(self.configured)
            }
        }
    }

    /// Runs tests in a workspace. A run that reaches a derived limit is repeated with the configured limit before it
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
        if run.outcome == Outcome::TimedOut && limited.command.timeout < self.configured && !cancel.is_cancelled() {
            run = suite::run(suite, workspace, only, cancel).await?;
        }
        self.saw(Duration::from_millis(run.duration_ms));
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
        assert_eq!(pace.limit(), seconds(60));
        pace.saw(seconds(2));
        assert_eq!(pace.limit(), seconds(60));
        pace.saw(seconds(300));
        assert_eq!(pace.limit(), seconds(600));
        pace.saw(Duration::MAX);
        assert_eq!(pace.limit(), seconds(600));
    }
}

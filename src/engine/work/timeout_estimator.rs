//! How long a test command may take by what it took before, so that one that hangs is noticed early.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::super::Broken;
use crate::checkout::Workspace;
use crate::domain::test_run::{Outcome, TestRun};
use crate::suite::{self, Suite};

/// A run may take this many times as long as the longest one before it, and this much more.
const TIMES: u32 = 3;
const FLOOR: Duration = Duration::from_secs(30);

/// What is known of the durations of one command on one tree.
#[derive(Debug, Clone)]
pub(super) struct TimeoutEstimator {
    configured: Duration,
    longest: Option<Duration>,
}

impl TimeoutEstimator {
    /// Nothing is known yet but the configured limit.
    pub(super) fn new(configured: Duration) -> Self {
        Self {
            configured,
            longest: None,
        }
    }

    /// A run came to its end after this time.
    pub(super) fn saw(&mut self, took: Duration) {
        self.longest = self.longest.max(Some(took));
    }

    /// How long the next run may take.
    fn limit(&self) -> Duration {
        self.longest.map_or(self.configured, |longest| {
            longest.saturating_mul(TIMES).saturating_add(FLOOR).min(self.configured)
        })
    }

    /// Runs tests in a workspace. One that reaches a limit that was only derived is run again with the configured one,
    /// before it is said to take too long.
    ///
    /// # Errors
    /// When the sandbox cannot be used.
    pub(super) async fn run(
        &mut self,
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
        let mut pace = TimeoutEstimator::new(seconds(600));
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

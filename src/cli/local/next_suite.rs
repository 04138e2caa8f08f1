//! Prepares the suites after the first one, in a checkout with several: each has its own dependencies.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use tokio_util::sync::CancellationToken;

use super::super::{Exit, ready, terminal};
use crate::domain::run::End;
use crate::engine::worktree::Worktree;
use crate::suite::Suite;

/// The suite that was prepared last.
#[derive(Default)]
pub(super) struct NextSuite(Mutex<Option<Suite>>);

impl NextSuite {
    /// The suite that a worktree has turned to, in the sandbox of the first one.
    ///
    /// # Errors
    /// The end of the run, if the dependencies cannot be installed.
    pub(super) async fn of(
        &self,
        (worktree, first): (&Worktree, &Suite),
        supplies: (bool, Option<&Path>),
        cancel: &CancellationToken,
    ) -> Result<Suite, End> {
        let command = worktree.test_command().unwrap_or_else(|_| first.command.clone());
        if command == first.command {
            return Ok(first.clone());
        }
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(known) = known.filter(|known| known.command == command) {
            return Ok(known);
        }
        terminal::mention(&format!("running `{command}` (from {})", command.source));
        let mut suite = worktree.suite(&first.sandbox, command);
        suite.clock = first.clock.clone();
        match ready::supply(worktree, &mut suite, supplies, cancel).await {
            Ok(()) | Err(Exit::Stopped) => {}
            Err(exit) => {
                let reason = exit.reason().unwrap_or_default().to_string();
                return Err(End::Refused { reason });
            }
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(suite.clone());
        Ok(suite)
    }
}

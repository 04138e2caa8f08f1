//! Knows test commands.

use tokio_util::sync::CancellationToken;

use crate::checkout::Workspace;
use crate::domain::test_run::{Outcome, TestRun};
use crate::sandbox;

/// Placeholder until the room arrives.
#[derive(Debug, Clone)]
pub struct Suite;

/// Placeholder until the room arrives.
pub async fn run(
    _suite: &Suite,
    _workspace: &Workspace,
    _only: &[String],
    _cancel: &CancellationToken,
) -> Result<TestRun, sandbox::Error> {
    Ok(TestRun::without_result("true", Outcome::NothingRan, ""))
}

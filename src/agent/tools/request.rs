//! `request_execution`, and whatever else a run may not do by itself: what is asked for, and carrying it out once a
//! person allowed it.

use tokio_util::sync::CancellationToken;

use crate::agent::{Error, Shell, Transcript};
use crate::domain::execution::Execution;

/// Carries out exactly what was approved, on the tree that the transcript's edits give, and says what came of it.
///
/// # Errors
/// When the sandbox cannot be used.
pub async fn carry_out(
    _shell: &mut Shell<'_>,
    _transcript: &Transcript,
    _execution: &Execution,
    _cancel: &CancellationToken,
) -> Result<String, Error> {
    Ok("nothing can be carried out yet.".into())
}

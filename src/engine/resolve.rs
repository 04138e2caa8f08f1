//! Hands a person's answer back to the model that waits for it; what was approved is carried out first, exactly.

use super::desk::Desk;
use super::{Broken, Context, work};
use crate::domain::execution::Resolution;
use crate::domain::run::{Run, Step};
use crate::suite::Suite;

/// Gives the next item of the transcript: the result of what was approved, or why it was not done.
///
/// # Errors
/// When the sandbox cannot be used.
pub(super) async fn resolve(
    _context: &Context<'_>,
    run: &Run,
    (desk, suite): (&Desk, Option<&Suite>),
    resolution: &Resolution,
    cancel: &tokio_util::sync::CancellationToken,
) -> Result<Step, Broken> {
    let Some(deferred) = &run.deferred else {
        return Err(Broken::Bug("nothing is asked for".into()));
    };
    let item = work::resolve(
        (desk, suite),
        (work::stage(run), &run.said, deferred),
        resolution,
        cancel,
    )
    .await?;
    Ok(Step::Resolved(item))
}

//! Decides, before each step of a run, whether the run has to stop.

use std::time::Duration;

use super::interrupt::{Interrupt, Working};
use super::{Broken, Context, retarget};
use crate::domain::run::{End, Next, Run};
use crate::github::PullRequest;

/// GitHub's API may learn of a push a moment later than its webhooks.
const LAG: Duration = Duration::from_secs(2);

/// Whether to stop here: `Some(Some(end))` ends the run, `Some(None)` leaves it to the next process.
///
/// # Errors
/// When GitHub has to be asked, and cannot be reached.
pub(super) async fn stop(
    context: &Context<'_>,
    run: &Run,
    next: &Next,
    working: &mut Working,
) -> Result<Option<Option<End>>, Broken> {
    if run.end.is_some() || matches!(next, Next::Land) {
        return Ok(None);
    }
    match working.interrupt() {
        Some(Interrupt::ShuttingDown) => Ok(Some(None)),
        Some(Interrupt::Cancelled(request)) => Ok(Some(Some(End::Cancelled {
            by: Some(request.by().clone()),
        }))),
        // Deliveries may be late or repeated, so only the current state of the pull request counts.
        Some(Interrupt::Superseded(_) | Interrupt::Closed | Interrupt::Retargeted) => {
            working.enter_again();
            let now = context.client.pull_request(context.id()).await?;
            if let Some(end) = outdated(run, &now) {
                return Ok(Some(Some(end)));
            }
            tokio::time::sleep(LAG).await;
            let now = context.client.pull_request(context.id()).await?;
            Ok(outdated(run, &now).map(Some))
        }
        None => Ok(outdated(run, &context.pull_request).map(Some)),
    }
}

/// The end of a run whose pull request has changed since the run began.
pub(super) fn outdated(run: &Run, now: &PullRequest) -> Option<End> {
    if !now.is_open {
        return Some(End::Cancelled { by: None });
    }
    let head = now.head.clone();
    if head != run.started.head {
        return Some(End::Superseded { head });
    }
    retarget::end(run, now)
}

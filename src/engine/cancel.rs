//! Stops the run of a pull request: within a moment when it is at work, at once when it waits.

use super::verdict::VerbResult;
use super::{Broken, Context, Interrupt, pull_request};
use crate::domain::gate::Refusal;
use crate::domain::permission::{Authorized, Cancel};
use crate::domain::run::{End, Run};
use crate::journal;

/// How often a run may continue under the hands of who cancels it.
const MAX_ATTEMPTS: usize = 5;

/// Cancels.
///
/// # Errors
/// When something broke.
pub(super) async fn cancel(context: &Context<'_>, request: &Authorized<Cancel>) -> Result<VerbResult, Broken> {
    for _ in 1..MAX_ATTEMPTS {
        match attempt(context, request).await {
            // The run continued in its own lane in between: it is at work now, or over.
            Err(Broken::Journal(journal::Error::Taken)) => {}
            verdict => return verdict,
        }
    }
    attempt(context, request).await
}

async fn attempt(context: &Context<'_>, request: &Authorized<Cancel>) -> Result<VerbResult, Broken> {
    let by = request.by();
    // At work: the run itself writes its end, in its own lane.
    if context
        .app
        .interrupts
        .interrupt(context.id(), &Interrupt::Cancelled(request.clone()))
    {
        return Ok(Ok(None));
    }
    let runs = context.app.journal.runs_of(context.id()).await?;
    let last = runs.last().cloned();
    let open: Vec<Run> = runs.into_iter().filter(|run| run.end.is_none()).collect();
    if open.is_empty() {
        // Said twice by the same person, or worked off twice: it is done.
        let end = last.and_then(|run| run.end);
        let is_done = matches!(end, Some(End::Cancelled { by: Some(other) }) if other.is(by));
        return Ok(if is_done {
            Ok(None)
        } else {
            Err(Refusal::NothingRunning)
        });
    }
    for mut run in open {
        pull_request::end(context, &mut run, End::Cancelled { by: Some(by.clone()) }).await?;
        pull_request::drive_in(context, run).await?;
    }
    Ok(Ok(None))
}

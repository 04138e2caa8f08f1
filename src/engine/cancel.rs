//! Cancels the run of a pull request: within a moment if it is active, at once if it waits.

use super::verdict::VerbResult;
use super::{Broken, Context, Interrupt, pull_request};
use crate::domain::gate::Refusal;
use crate::domain::permission::{Authorized, Cancel};
use crate::domain::run::{End, Run};
use crate::journal;

/// How often a run may advance while someone cancels it.
const MAX_ATTEMPTS: usize = 5;

/// Cancels the run, and tries again if it advances meanwhile.
///
/// # Errors
/// When something broke.
pub(super) async fn cancel(context: &Context<'_>, request: &Authorized<Cancel>) -> Result<VerbResult, Broken> {
    for _ in 1..MAX_ATTEMPTS {
        match attempt(context, request).await {
            // The run advanced in its own lane in between: it is active now, or over.
            Err(Broken::Journal(journal::Error::Taken)) => {}
            verdict => return verdict,
        }
    }
    attempt(context, request).await
}

async fn attempt(context: &Context<'_>, request: &Authorized<Cancel>) -> Result<VerbResult, Broken> {
    let by = request.by();
    // An active run writes its end itself, in its own lane.
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
        // The same person cancelled twice, or the request was processed twice: it is done.
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

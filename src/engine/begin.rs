//! Begins the run that a person asked for, and ends the run that was active before.

use super::start::Begun;
use super::verdict::VerbResult;
use super::{Broken, Context, pull_request, retarget, start};
use crate::domain::gate::Gate;
use crate::domain::id::Account;
use crate::domain::mode::Mode;
use crate::domain::permission::Authorized;
use crate::domain::reply;
use crate::domain::run::{Consent, End, Origin, Run, Step};
use crate::journal;

/// The command is the consent to sandboxed runs on this head. If a run already waits for an answer on this head,
/// shows its status instead.
pub(super) async fn begin(
    context: &Context<'_>,
    origin: Origin,
    request: &Authorized<Mode>,
) -> Result<VerbResult, Broken> {
    let (by, mode) = (request.by(), request.request().clone());
    if !mode.is_debug() && context.app.model.is_none() {
        return Ok(Ok(Some(format!("{}.", reply::needs_a_model(&mode)))));
    }
    let config = match context.config().await? {
        Ok(config) => config,
        Err(mistake) => return Ok(Ok(Some(reply::bad_config(&mistake)))),
    };
    let runs = context.app.journal.runs_of(context.id()).await?;
    let mine = |run: &Run| run.started.mode == mode && run.started.origin == origin;
    // It was redelivered, or resumed after a restart, so this request has already ended the other runs.
    if let Some(begun) = runs.iter().find(|run| mine(run)) {
        let begun = Box::pin(take_over(context, begun.clone(), by)).await?;
        pull_request::drive_in(context, begun).await?;
        return Ok(Ok(None));
    }
    let is_at_work = |run: &&Run| run.end.is_none() && run.started.mode != Mode::Explain;
    for run in runs.iter().filter(is_at_work) {
        let is_of_head = |gate: &Gate| gate.head == context.pull_request.head;
        let waits_for_an_answer = run.open_gates().iter().any(is_of_head)
            && (run.proposal.is_some() || run.tests_first.is_some())
            && retarget::end(run, &context.pull_request).is_none();
        if waits_for_an_answer {
            return Ok(Ok(Some(reply::status(Some(run), &context.pull_request.head_branch))));
        }
    }
    let consent = Consent::Command { by: by.clone() };
    let begun = start::start(context, &config, (origin, mode), consent).await?;
    let run = Box::pin(take_over(context, begun.run, by)).await?;
    pull_request::drive_begun(context, Begun { run, ..begun }).await?;
    Ok(Ok(None))
}

/// How often another process's run may advance while this one tries to end it.
pub(super) const MAX_TAKING_OVER: usize = 10;

/// Ends the other active runs: older ones, and one that another process began at the same time, when neither saw the
/// other. The process that appended its start second sees both runs. The newer run continues, because it owns the
/// sticky comment.
async fn take_over(context: &Context<'_>, mut mine: Run, by: &Account) -> Result<Run, Broken> {
    let age = |run: &Run| (run.started.at, run.id().clone());
    // This run has ended, so a newer one continues.
    if mine.end.is_some() {
        return Ok(mine);
    }
    for _ in 0..MAX_TAKING_OVER {
        let runs = context.app.journal.runs_of(context.id()).await?;
        let is_other = |run: &Run| run.end.is_none() && run.started.mode != Mode::Explain && run.id() != mine.id();
        let Some(mut other) = runs.into_iter().find(is_other) else {
            return Ok(mine);
        };
        let cancelled = End::Cancelled { by: Some(by.clone()) };
        if age(&other) > age(&mine) {
            pull_request::end(context, &mut mine, cancelled).await?;
            return Ok(mine);
        }
        let end = retarget::end(&other, &context.pull_request).unwrap_or(cancelled);
        match pull_request::end(context, &mut other, end).await {
            Ok(()) => context.app.append(&mut other, Step::Announced).await?,
            Err(Broken::Journal(journal::Error::Taken)) => {}
            Err(broken) => return Err(broken),
        }
    }
    Ok(mine)
}
